package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

import org.jspecify.annotations.Nullable;

/**
 * Finds out whether the pages of a range can be read, without asking Java, as {@link
 * Region#requirePagesRead} does: a copy leaves its target alone where a page cannot be read.
 */
final class PageProbe {
  /** No system has shorter pages. */
  private static final int PAGE_BYTES_MIN = 4096;

  private static final byte UNLIKELY = (byte) 0xa7;

  private PageProbe() {}

  /**
   * Copies a byte from each page of the range.
   *
   * @param base what one byte is overwritten in, an array or null for native memory
   * @param at where in it, an offset or an address
   * @throws InternalError as Java does for pages that cannot be read
   */
  static void require(long address, long count, @Nullable Object base, long at) {
    long end = address + count;
    for (long next = address; next < end; next = (next | PAGE_BYTES_MIN - 1) + 1) {
      // No byte is equal to both; most are not equal to the first.
      if (isUnchanged(next, base, at, UNLIKELY) && isUnchanged(next, base, at, (byte) ~UNLIKELY)) {
        Region.requirePagesRead();
        throw new InternalError("a page of a mapping cannot be read");
      }
    }
  }

  private static boolean isUnchanged(long address, @Nullable Object base, long at, byte filler) {
    UNSAFE.putByte(base, at, filler);
    UNSAFE.copyMemory(null, address, base, at, 1);
    return UNSAFE.getByte(base, at) == filler;
  }
}
