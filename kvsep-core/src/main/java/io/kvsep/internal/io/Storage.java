package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/**
 * A flat directory of files: the engine's only access to a disk.
 *
 * <p>Content and length of a file are durable after {@link StorageFile#sync}, names after {@link
 * #syncDirectory}; a new file needs both. Until then a crash may keep, drop or tear each write, and
 * keep or drop each change of the directory.
 *
 * <p>Names are those of {@link StoreFiles}; one with a path separator is an {@link
 * IllegalArgumentException}.
 *
 * <p>Thread safe. Interrupts neither fail nor shorten an operation; the interrupt flag is
 * preserved.
 *
 * <p>Failures are {@link IOException}s and are not retried. After {@link #close} every operation
 * fails. If the directory was moved, deleted or replaced, every operation by name throws a {@link
 * LostDirectoryException} and changes nothing. Open files stay usable in both cases.
 */
public interface Storage extends AutoCloseable {

  /**
   * Creates an empty file, open for reading and writing.
   *
   * @throws java.nio.file.FileAlreadyExistsException if the name is taken
   */
  StorageFile create(String name) throws IOException;

  /**
   * Opens a file.
   *
   * @throws java.nio.file.NoSuchFileException if there is no such file
   */
  StorageFile open(String name, boolean writable) throws IOException;

  boolean exists(String name) throws IOException;

  /**
   * Renames a file atomically, replacing any file with the target name. Open files keep their
   * content.
   *
   * @throws java.nio.file.NoSuchFileException if there is no source
   */
  void rename(String source, String target) throws IOException;

  /**
   * Mappings of the file stay valid, but see {@link #deletesMapped}.
   *
   * @throws java.nio.file.NoSuchFileException if there is no such file
   */
  void delete(String name) throws IOException;

  /**
   * Whether a mapped file can be deleted and its name reused. If not, unmap it before {@link
   * #delete}.
   */
  boolean deletesMapped();

  /** Names of all files, sorted. */
  List<String> list() throws IOException;

  /** Makes every create, rename and delete that has returned durable. */
  void syncDirectory() throws IOException;

  /**
   * Locks {@link StoreFiles#LOCK}, the only name allowed, against incompatible holders in this
   * process and others; creates the file if missing. The file cannot be opened, created or renamed,
   * nor deleted while held: that would defeat the lock on some platforms.
   *
   * @throws io.kvsep.error.StoreLockedException if an incompatible lock is held
   */
  StorageLock lock(String name, boolean shared) throws IOException;

  /**
   * Reads these pages of a mapping into memory; a page fault would read its surroundings too, up to
   * the device's read-ahead. Unreadable pages are skipped. Costs a system call even if all is in
   * memory.
   *
   * @param mapped the result of {@link StorageFile#map} of this storage, or a slice of it
   * @return false if the system reports that all was in memory already
   */
  boolean load(ByteBuffer mapped);

  /**
   * Begins a directory elsewhere that may have links to files of this one.
   *
   * @param target the final path; missing parents are created
   * @throws java.nio.file.FileAlreadyExistsException if the path exists
   */
  NewDirectory newDirectory(Path target) throws IOException;

  /**
   * Checks directory and held lock file. Every operation by name does this first. Costs two system
   * calls.
   *
   * @throws LostDirectoryException if either was moved, deleted or replaced
   */
  void checkDirectory() throws IOException;

  /** For messages. */
  String location();

  @Override
  void close() throws IOException;
}
