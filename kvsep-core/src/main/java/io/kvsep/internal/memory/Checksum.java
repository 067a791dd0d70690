package io.kvsep.internal.memory;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** A running CRC32C of readable ranges. Not thread safe. */
final class Checksum {
  private static final boolean FOREIGN = RawBytes.isForeign();

  private static final int STEP_BYTES_MAX = 1 << 30;
  private static final int COPY_BYTES_MIN = 64;
  private static final int COPY_BYTES_MAX = 4096;
  private static final byte[] NO_BYTES = {};

  private final CRC32C crc = new CRC32C();
  private final ByteBuffer window;
  private byte[] copy = NO_BYTES;

  /**
   * @param window of {@link RawBytes#newWindow}
   */
  Checksum(ByteBuffer window) {
    this.window = window;
  }

  void trim() {
    copy = NO_BYTES;
  }

  void reset() {
    crc.reset();
  }

  /** Returns the checksum so far. The caller has checked the range. */
  int add(RawBytes source, long offset, long count) {
    if (FOREIGN) {
      addCopies(source, offset, count);
      return (int) crc.getValue();
    }
    long end = offset + count;
    long at = offset;
    while (at < end) {
      int step = (int) Math.min(end - at, STEP_BYTES_MAX);
      crc.update(source.aim(window, at, step));
      at += step;
    }
    return (int) crc.getValue();
  }

  /**
   * A buffer would be an object for each call, and {@link CRC32C} would count itself in and out of
   * the arena, a counter that all readers of a file share.
   */
  private void addCopies(RawBytes source, long offset, long count) {
    if (copy.length < Math.min(count, COPY_BYTES_MAX)) {
      copy = new byte[count > COPY_BYTES_MIN ? COPY_BYTES_MAX : COPY_BYTES_MIN];
    }
    long end = offset + count;
    long at = offset;
    while (at < end) {
      int step = (int) Math.min(end - at, copy.length);
      source.copyTo(copy, 0, at, step);
      crc.update(copy, 0, step);
      at += step;
    }
  }
}
