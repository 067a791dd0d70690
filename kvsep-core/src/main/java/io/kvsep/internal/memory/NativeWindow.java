package io.kvsep.internal.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * Lets JDK calls that take only a {@link ByteBuffer} work on a {@link Region} without allocating:
 * checksums and file I/O. Not thread safe; each slot, iterator and writer has its own.
 *
 * <p>The buffers it returns are valid until the next call on this window and only while the region
 * is not freed; they are for handing straight to such a call and must not be kept.
 */
public final class NativeWindow {
  /** In the machine's order, as LZ4's Java code wants it: of another it makes a duplicate. */
  private final ByteBuffer buffer = Region.newWindow().order(ByteOrder.nativeOrder());

  private final CRC32C crc = new CRC32C();
  private final byte[] probe = new byte[1];

  /**
   * crc32c of a range of {@code region}.
   *
   * @throws InternalError as {@link Region#requireReadable} does
   */
  public int crc32c(Region region, long offset, long count) {
    crc.reset();
    return crc32cMore(region, offset, count);
  }

  /** See {@link Region#requireReadable}. */
  public void requireReadable(Region region, long offset, long count) {
    region.requireReadable(offset, count, probe);
  }

  /** Starts a checksum that {@link #crc32cMore} continues. */
  public void crc32cReset() {
    crc.reset();
  }

  /** Adds a range to the checksum begun by {@link #crc32cReset} and returns it so far. */
  public int crc32cMore(Region region, long offset, long count) {
    region.requireReadable(offset, count, probe);
    long at = offset;
    long rest = count;
    while (rest > 0) {
      int step = (int) Math.min(rest, 1 << 30);
      region.aim(buffer, at, step);
      crc.update(buffer);
      at += step;
      rest -= step;
    }
    return (int) crc.getValue();
  }

  /** The range as a direct buffer from position 0 to its limit, in the machine's byte order. */
  public ByteBuffer over(Region region, long offset, int count) {
    region.aim(buffer, offset, count);
    return buffer;
  }
}
