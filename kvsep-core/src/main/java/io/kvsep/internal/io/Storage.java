package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/**
 * One flat directory of files: the only way to a disk that the engine has.
 *
 * <p>Nothing is durable before somebody asked: bytes and length of a file after {@link
 * StorageFile#sync}, the name of a file after {@link #syncDirectory}. Both are needed for a new
 * file to survive a crash. Until then a crash may keep, drop or tear each write, and keep or drop
 * each change of the directory.
 *
 * <p>Names are plain file names ({@link StoreFiles} makes and parses them); a name with a path
 * separator is an {@link IllegalArgumentException}.
 *
 * <p>Thread safe. An interrupt of the calling thread neither fails nor shortens an operation, and
 * is still set when the operation returns.
 *
 * <p>Failures are {@link IOException}s and are never retried here. After {@link #close} every
 * operation fails; files that were opened before stay usable until they are closed themselves.
 * Where the directory was moved, deleted or replaced, every operation that goes by a name is a
 * {@link LostDirectoryException} and touches nothing; files that are open stay usable.
 */
public interface Storage extends AutoCloseable {

  /**
   * Makes a new, empty file, open for reading and writing.
   *
   * @throws java.nio.file.FileAlreadyExistsException when the name is taken
   */
  StorageFile create(String name) throws IOException;

  /**
   * Opens an existing file.
   *
   * @throws java.nio.file.NoSuchFileException when there is none
   */
  StorageFile open(String name, boolean writable) throws IOException;

  boolean exists(String name) throws IOException;

  /**
   * Gives a file another name in one atomic step, in place of any file that has the name. A file
   * that is open under either name stays the same file for those who hold it.
   *
   * @throws java.nio.file.NoSuchFileException when there is no source
   */
  void rename(String source, String target) throws IOException;

  /**
   * Removes a name. Mappings of the file stay valid; but see {@link #deletesMapped}.
   *
   * @throws java.nio.file.NoSuchFileException when there is none
   */
  void delete(String name) throws IOException;

  /**
   * Whether a file can be deleted, and another one be given its name, as long as it is mapped.
   * Where it cannot, nobody must keep a mapping for longer than the file is wanted.
   */
  boolean deletesMapped();

  /** Plain names of all files, sorted. */
  List<String> list() throws IOException;

  /** Makes every create, rename and delete that returned before durable. */
  void syncDirectory() throws IOException;

  /**
   * Locks a file against every other holder in this process or another. It is made when absent, and
   * only {@link StoreFiles#LOCK} may be locked, which in turn cannot be opened, created or renamed,
   * nor deleted while it is held: all of that would undo the lock on some platforms.
   *
   * @throws io.kvsep.error.StoreLockedException when it is held in a way that excludes this one
   */
  StorageLock lock(String name, boolean shared) throws IOException;

  /**
   * Brings a part of a mapping into memory by reads of just these pages, where a page fault reads
   * around itself, up to the read-ahead of the device. Pages that cannot be read are left out.
   * Costs a system call even if all of it is in memory.
   *
   * @param mapped what {@link StorageFile#map} of this storage returned, or a slice of it
   * @return false if all of it was in memory before, as far as the system tells
   */
  boolean load(ByteBuffer mapped);

  /**
   * Begins a directory elsewhere that may share files with this one.
   *
   * @param target what it is to be called in the end; missing parents are made
   * @throws java.nio.file.FileAlreadyExistsException when there is anything of that name
   */
  NewDirectory newDirectory(Path target) throws IOException;

  /**
   * Looks whether the directory still has its name, and its lock file, when that is held, too.
   * Every operation that goes by a name does so first. Costs two system calls.
   *
   * @throws LostDirectoryException when they were moved, deleted or replaced
   */
  void checkDirectory() throws IOException;

  /** Where the files are, for messages. */
  String location();

  @Override
  void close() throws IOException;
}
