package io.kvsep.internal.io;

import java.io.IOException;

/**
 * A directory under construction outside of a {@link Storage}, under a temporary name until {@link
 * #publish}. After a crash during that call, the complete directory has one name or the other.
 *
 * <p>For one thread at a time.
 */
public interface NewDirectory extends AutoCloseable {
  /** Its files; closed by {@link #close}. */
  Storage storage();

  /**
   * Makes a hard link to a file of the source storage, under the same name. The name is durable
   * after {@link Storage#syncDirectory} of {@link #storage}; the content is as durable as it was.
   *
   * @return false if the file system cannot
   * @throws java.nio.file.NoSuchFileException if there is no such file
   * @throws java.nio.file.FileAlreadyExistsException if the name is taken here
   */
  boolean link(String name) throws IOException;

  /**
   * Gives the directory its final name, durably. Its contents must be durable and its files closed.
   *
   * @throws java.nio.file.FileAlreadyExistsException if the name has been taken meanwhile
   */
  void publish() throws IOException;

  /** Unless published, removes the directory and its contents as far as possible. */
  @Override
  void close();
}
