package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/**
 * One flat directory of files: the engine's only access to a disk.
 *
 * <p>Nothing is durable unless requested: content and length of a file after {@link
 * StorageFile#sync}, its name after {@link #syncDirectory}. A new file survives a crash only after
 * both. Until then a crash may keep, drop or tear each write, and keep or drop each change of the
 * directory.
 *
 * <p>Names are plain file names ({@link StoreFiles} creates and parses them); a name with a path
 * separator is an {@link IllegalArgumentException}.
 *
 * <p>Thread safe. An interrupt of the calling thread neither fails nor shortens an operation, and
 * the interrupt flag is preserved.
 *
 * <p>Failures are {@link IOException}s and are never retried here. After {@link #close} every
 * operation fails; files that are open stay usable until they are closed themselves. If the
 * directory was moved, deleted or replaced, every operation by name throws a {@link
 * LostDirectoryException} and changes nothing; files that are open stay usable.
 */
public interface Storage extends AutoCloseable {

  /**
   * Creates an empty file, open for reading and writing.
   *
   * @throws java.nio.file.FileAlreadyExistsException if the name is taken
   */
  StorageFile create(String name) throws IOException;

  /**
   * Opens an existing file.
   *
   * @throws java.nio.file.NoSuchFileException if there is no such file
   */
  StorageFile open(String name, boolean writable) throws IOException;

  boolean exists(String name) throws IOException;

  /**
   * Renames a file atomically, replacing any file with the target name. Open files under either
   * name remain the same files for their users.
   *
   * @throws java.nio.file.NoSuchFileException if there is no source
   */
  void rename(String source, String target) throws IOException;

  /**
   * Removes a name. Mappings of the file stay valid, but see {@link #deletesMapped}.
   *
   * @throws java.nio.file.NoSuchFileException if there is no such file
   */
  void delete(String name) throws IOException;

  /**
   * Whether a mapped file can be deleted and its name reused. If not, mappings must be released
   * before the file is deleted.
   */
  boolean deletesMapped();

  /** Plain names of all files, sorted. */
  List<String> list() throws IOException;

  /** Makes every create, rename and delete that has returned durable. */
  void syncDirectory() throws IOException;

  /**
   * Locks a file against incompatible holders in this process and others; creates it if missing.
   * Only {@link StoreFiles#LOCK} can be locked. It cannot be opened, created, renamed, or deleted
   * while held; any of these would defeat the lock on some platforms.
   *
   * @throws io.kvsep.error.StoreLockedException if an incompatible lock is held
   */
  StorageLock lock(String name, boolean shared) throws IOException;

  /**
   * Reads a part of a mapping into memory. Reads only these pages, whereas a page fault reads its
   * surroundings, up to the device's read-ahead. Unreadable pages are skipped. Costs a system call
   * even if all of it is in memory.
   *
   * @param mapped the result of {@link StorageFile#map} of this storage, or a slice of it
   * @return false if all of it was in memory already, as far as the system reports
   */
  boolean load(ByteBuffer mapped);

  /**
   * Begins a directory elsewhere that may share files with this one.
   *
   * @param target the final path; missing parents are created
   * @throws java.nio.file.FileAlreadyExistsException if the path exists
   */
  NewDirectory newDirectory(Path target) throws IOException;

  /**
   * Checks that the directory still has its name, and so does the lock file if held. Every
   * operation by name does this first. Costs two system calls.
   *
   * @throws LostDirectoryException if either was moved, deleted or replaced
   */
  void checkDirectory() throws IOException;

  /** Path of the directory, for messages. */
  String location();

  @Override
  void close() throws IOException;
}
