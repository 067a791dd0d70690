package io.kvsep.internal.io;

import java.io.IOException;

/**
 * A directory under construction outside of a {@link Storage}, under a temporary name until it is
 * complete. Before {@link #publish} returns nothing has the final name, except that the complete
 * directory may have it after a crash during that call.
 *
 * <p>For one thread at a time.
 */
public interface NewDirectory extends AutoCloseable {
  /** Its files; closed together with this. */
  Storage storage();

  /**
   * Links a file of the source storage into this directory under the same name, without copying.
   * Later writes show in both. The name is durable after {@link Storage#syncDirectory} of {@link
   * #storage}; the content is as durable as it was.
   *
   * @return false if the file systems cannot do this
   * @throws java.nio.file.NoSuchFileException if there is no such file
   * @throws java.nio.file.FileAlreadyExistsException if the name is taken here
   */
  boolean link(String name) throws IOException;

  /**
   * Gives the directory its final name, durably. Its contents must be durable before, and none of
   * its files may be open.
   *
   * @throws java.nio.file.FileAlreadyExistsException if the name has been taken meanwhile
   */
  void publish() throws IOException;

  /** Removes the directory and its contents as far as possible, unless it was published. */
  @Override
  void close();
}
