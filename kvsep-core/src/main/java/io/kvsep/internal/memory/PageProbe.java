package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

/**
 * Finds out whether the pages of a range can be read, without asking Java, as {@link
 * Region#requirePagesRead} does: a copy leaves its target alone where a page cannot be read. A byte
 * is copied from each page.
 *
 * <p>Into arrays and into native memory by methods of their own: where a compiler does not know
 * which of both it is, it reads and writes everything around it anew.
 */
final class PageProbe {
  /** No system has shorter pages. */
  private static final int PAGE_BYTES_MIN = 4096;

  /** No byte is equal to both it and its complement; most are not equal to it. */
  private static final byte UNLIKELY = (byte) 0xa7;

  private static final long BYTES_BASE = UNSAFE.arrayBaseOffset(byte[].class);

  private PageProbe() {}

  /**
   * Copies into an array.
   *
   * @param target the first byte of which is overwritten
   * @throws InternalError as Java does for pages that cannot be read
   */
  static void require(long address, long count, byte[] target) {
    long end = address + count;
    for (long next = address; next < end; next = nextPage(next)) {
      if (isUnchanged(next, target, UNLIKELY) && isUnchanged(next, target, (byte) ~UNLIKELY)) {
        throw unreadable();
      }
    }
  }

  /**
   * Copies into native memory.
   *
   * @param target where one byte is overwritten
   * @throws InternalError as Java does for pages that cannot be read
   */
  static void require(long address, long count, long target) {
    long end = address + count;
    for (long next = address; next < end; next = nextPage(next)) {
      if (isUnchanged(next, target, UNLIKELY) && isUnchanged(next, target, (byte) ~UNLIKELY)) {
        throw unreadable();
      }
    }
  }

  private static long nextPage(long address) {
    return (address | PAGE_BYTES_MIN - 1) + 1;
  }

  private static boolean isUnchanged(long address, byte[] target, byte filler) {
    target[0] = filler;
    UNSAFE.copyMemory(null, address, target, BYTES_BASE, 1);
    return target[0] == filler;
  }

  private static boolean isUnchanged(long address, long target, byte filler) {
    UNSAFE.putByte(target, filler);
    UNSAFE.copyMemory(address, target, 1);
    return UNSAFE.getByte(target) == filler;
  }

  private static InternalError unreadable() {
    Region.requirePagesRead();
    return PageFault.ofProbe();
  }
}
