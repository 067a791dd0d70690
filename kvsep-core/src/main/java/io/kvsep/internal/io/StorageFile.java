package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * One open file of a {@link Storage}. There is no file position: every transfer names its own.
 *
 * <p>Buffers are direct: the platform would otherwise copy through a direct buffer as large as the
 * request and keep it for the life of the thread. A heap buffer is an {@link
 * IllegalArgumentException}.
 *
 * <p>Thread safe, and safe against interrupts as {@link Storage} says. Writers that overlap each
 * other get one result or the other, sector by sector. After {@link #close} every operation is a
 * {@link java.nio.channels.ClosedChannelException}, except that a second close does nothing.
 */
public interface StorageFile extends AutoCloseable {

  /** The name under which the file was opened; a later rename does not change it. */
  String name();

  long length() throws IOException;

  /**
   * Writes all remaining bytes or throws. May extend the file; a gap reads as zeros. A failure may
   * leave any part written, and the position of the source anywhere.
   */
  void write(ByteBuffer source, long position) throws IOException;

  /** Fills the target unless the file ends first. Returns the bytes read, 0 at the end. */
  int read(ByteBuffer target, long position) throws IOException;

  /**
   * Maps the range [0, {@code length}) read-only. The buffer is direct, stays valid after {@link
   * #close}, and is the original one, not a view, so that its owner can free it. It shows what was
   * written before; whether it shows what is written into the range later is left open.
   *
   * @throws IllegalArgumentException when the length is negative, beyond the end of the file or
   *     above {@link Integer#MAX_VALUE}; a mapping never extends the file
   */
  ByteBuffer map(long length) throws IOException;

  /**
   * Makes content and length durable. After a failure nothing is known about what was written since
   * the last success, and a later success does not change that.
   */
  void sync() throws IOException;

  /** Cuts the file to a length not above its present one. Never while mapped. */
  void truncate(long length) throws IOException;

  @Override
  void close() throws IOException;
}
