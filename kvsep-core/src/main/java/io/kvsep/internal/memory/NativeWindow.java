package io.kvsep.internal.memory;

import java.nio.ByteBuffer;

/**
 * Lets JDK calls that take only a {@link ByteBuffer}, such as checksums and file I/O, work on a
 * {@link Region} without allocating. Not thread safe.
 *
 * <p>Pass returned buffers directly to such a call: they are valid until the next call on this
 * window and while the region is not freed.
 */
public final class NativeWindow {
  /** In native byte order; LZ4's Java code would duplicate a buffer of another order. */
  private final ByteBuffer buffer = RawBytes.newWindow();

  private final Checksum crc = new Checksum(buffer);
  private final byte[] probe = new byte[1];

  /**
   * Checksum of a range.
   *
   * @throws InternalError as {@link Region#requireReadable} does
   */
  public int crc32c(Region region, long offset, long count) {
    crc.reset();
    return crc32cMore(region, offset, count);
  }

  public void requireReadable(Region region, long offset, long count) {
    region.requireReadable(offset, count, probe);
  }

  /** Drops memory that the next use would take again. */
  public void trim() {
    crc.trim();
  }

  public void crc32cReset() {
    crc.reset();
  }

  /** Adds a range and returns the checksum so far. */
  public int crc32cMore(Region region, long offset, long count) {
    region.requireReadable(offset, count, probe);
    return crc.add(region, offset, count);
  }

  /** A direct buffer from position 0 to its limit, in native byte order. */
  public ByteBuffer over(Region region, long offset, int count) {
    return region.aimed(buffer, offset, count);
  }
}
