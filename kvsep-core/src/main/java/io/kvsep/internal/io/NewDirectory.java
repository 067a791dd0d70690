package io.kvsep.internal.io;

import java.io.IOException;

/**
 * A directory that is being made somewhere beside a {@link Storage}, under a temporary name until
 * it is whole. Whatever happens before {@link #publish} returns, nothing has the final name, but
 * after a crash in the middle of that call, when it may be there, whole.
 *
 * <p>One thread at a time.
 */
public interface NewDirectory extends AutoCloseable {
  /** The files in it; closed together with this. */
  Storage storage();

  /**
   * Gives a file of the storage that this belongs to the same name here, without copying it. What
   * is written into it afterwards shows in both. The name is durable after the storage's {@link
   * Storage#syncDirectory}; the content is as durable as it was.
   *
   * @return whether that is done; the file systems may not be able to
   * @throws java.nio.file.NoSuchFileException when there is no such file
   * @throws java.nio.file.FileAlreadyExistsException when the name is taken here
   */
  boolean link(String name) throws IOException;

  /**
   * Gives the directory its final name, durably. What is in it has to be durable before. No file of
   * it may be open.
   *
   * @throws java.nio.file.FileAlreadyExistsException when somebody has taken the name meanwhile
   */
  void publish() throws IOException;

  /** Removes it with everything in it, as far as that is possible, unless it was published. */
  @Override
  void close();
}
