package io.kvsep.internal.memory;

import static net.openhft.chronicle.core.UnsafeMemory.UNSAFE;

/**
 * Copies from and to native memory of the user, such as that of Chronicle Bytes. Only calls with
 * such bytes load this class: it needs {@code sun.misc.Unsafe} on every JDK.
 */
final class UserMemory {
  private UserMemory() {}

  /**
   * The source may be in a mapping, so its pages are probed: copying an unreadable page would leave
   * the old bytes of the target.
   *
   * @throws InternalError for an unreadable page, as the JVM does
   */
  static void read(long source, long target, long count) {
    long end = source + count;
    for (long next = source; next < end; next = PageProbe.nextPage(next)) {
      if (isUnchanged(next, target, PageProbe.UNLIKELY)
          && isUnchanged(next, target, (byte) ~PageProbe.UNLIKELY)) {
        throw PageProbe.unreadable();
      }
    }
    UNSAFE.copyMemory(source, target, count);
  }

  private static boolean isUnchanged(long address, long target, byte filler) {
    UNSAFE.putByte(target, filler);
    UNSAFE.copyMemory(address, target, 1);
    return UNSAFE.getByte(target) == filler;
  }

  static void write(long source, long target, long count) {
    UNSAFE.copyMemory(source, target, count);
  }
}
