package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

/**
 * Checks whether the pages of a range can be read, without relying on the JVM to report the fault
 * as {@link Region#requirePagesRead} does: copying an unreadable page leaves the target unchanged.
 * Copies one byte per page.
 *
 * <p>Arrays and native memory have separate methods: if a compiler cannot distinguish them, it must
 * reload and store everything around the copy.
 */
final class PageProbe {
  /** The smallest page size of any system. */
  private static final int PAGE_BYTES_MIN = 4096;

  /** No byte equals both this and its complement; most do not equal this. */
  private static final byte UNLIKELY = (byte) 0xa7;

  private static final long BYTES_BASE = UNSAFE.arrayBaseOffset(byte[].class);

  private PageProbe() {}

  /**
   * Copies into an array.
   *
   * @param target its first byte is overwritten
   * @throws InternalError for an unreadable page, as the JVM does
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
   * @param target address of one byte that is overwritten
   * @throws InternalError for an unreadable page, as the JVM does
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
