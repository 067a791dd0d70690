package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * An open file of a {@link Storage}, without a file position.
 *
 * <p>A heap buffer is an {@link IllegalArgumentException}: the JDK would copy it through a direct
 * buffer as large as the request, and keep that for the life of the thread.
 *
 * <p>Thread safe, and unaffected by interrupts. Of overlapping concurrent writes either may win,
 * sector by sector. After {@link #close} every operation throws a {@link
 * java.nio.channels.ClosedChannelException}; a second close does nothing.
 */
public interface StorageFile extends AutoCloseable {

  /** The name under which the file was opened; a rename does not change it. */
  String name();

  long length() throws IOException;

  /**
   * Writes all remaining bytes. May extend the file; a gap reads as zeros. After a failure any part
   * may be written, and the source's position is undefined.
   */
  void write(ByteBuffer source, long offset) throws IOException;

  /** Fills the target unless the file ends first. Returns the bytes read, 0 at the end. */
  int read(ByteBuffer target, long offset) throws IOException;

  /**
   * Maps [0, {@code length}) read-only. The buffer stays valid after {@link #close}, and is no view
   * of another one, so that the caller can unmap it. It shows earlier writes, and perhaps later
   * ones.
   *
   * @throws IllegalArgumentException if the length is negative, beyond the end of the file or above
   *     {@link Integer#MAX_VALUE}
   */
  ByteBuffer map(long length) throws IOException;

  /**
   * Makes content and length durable. After a failure the state of all writes since the last
   * success is unknown, even if a later sync succeeds.
   */
  void sync() throws IOException;

  /**
   * Shortens the file; {@code length} must not exceed the current one. Not allowed while mapped.
   */
  void truncate(long length) throws IOException;

  @Override
  void close() throws IOException;
}
