package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * One open file of a {@link Storage}. There is no file position: every transfer is positional.
 *
 * <p>Buffers are direct, because the JDK would otherwise copy through a direct buffer as large as
 * the request and keep it for the life of the thread. A heap buffer is an {@link
 * IllegalArgumentException}.
 *
 * <p>Thread safe, and unaffected by interrupts like {@link Storage}. Overlapping concurrent writes
 * leave the result of one or the other, sector by sector. After {@link #close} every operation
 * throws a {@link java.nio.channels.ClosedChannelException}, except that a second close does
 * nothing.
 */
public interface StorageFile extends AutoCloseable {

  /** The name under which the file was opened; a rename does not change it. */
  String name();

  long length() throws IOException;

  /**
   * Writes all remaining bytes or throws. May extend the file; a gap reads as zeros. After a
   * failure any part may be written, and the source's position is undefined.
   */
  void write(ByteBuffer source, long position) throws IOException;

  /** Fills the target unless the file ends first. Returns the bytes read, 0 at the end. */
  int read(ByteBuffer target, long position) throws IOException;

  /**
   * Maps the range [0, {@code length}) read-only. The buffer is direct, stays valid after {@link
   * #close}, and is the original one rather than a view, so that its owner can free it. It shows
   * earlier writes; whether it shows later ones is unspecified.
   *
   * @throws IllegalArgumentException if the length is negative, beyond the end of the file or above
   *     {@link Integer#MAX_VALUE}; a mapping never extends the file
   */
  ByteBuffer map(long length) throws IOException;

  /**
   * Makes content and length durable. After a failure the state of everything written since the
   * last success is unknown, and a later success does not change that.
   */
  void sync() throws IOException;

  /**
   * Shortens the file to {@code length}, which must not exceed the current one. Not allowed while
   * mapped.
   */
  void truncate(long length) throws IOException;

  @Override
  void close() throws IOException;
}
