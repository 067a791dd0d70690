package io.kvsep.internal.memory;

/**
 * Checks whether the pages of a mapping can be read, without waiting for the JVM's report: copying
 * an unreadable page leaves the target unchanged. Copies one byte per page.
 */
final class PageProbe {
  /** The smallest page size of any system. */
  static final int PAGE_BYTES_MIN = 4096;

  /** No byte equals both this and its complement; most do not equal this. */
  static final byte UNLIKELY = (byte) 0xa7;

  private PageProbe() {}

  /**
   * The caller has checked that the range is within the mapping.
   *
   * @param target its first byte is overwritten
   * @throws InternalError for an unreadable page, as the JVM does
   */
  static void require(RawBytes mapping, long offset, long count, byte[] target) {
    long start = mapping.address();
    long end = start + offset + count;
    for (long next = start + offset; next < end; next = nextPage(next)) {
      if (isUnchanged(mapping, next - start, target, UNLIKELY)
          && isUnchanged(mapping, next - start, target, (byte) ~UNLIKELY)) {
        throw unreadable();
      }
    }
  }

  static long nextPage(long address) {
    return (address | PAGE_BYTES_MIN - 1) + 1;
  }

  private static boolean isUnchanged(RawBytes mapping, long offset, byte[] target, byte filler) {
    target[0] = filler;
    mapping.copyTo(target, 0, offset, 1);
    return target[0] == filler;
  }

  static InternalError unreadable() {
    Region.requirePagesRead();
    return PageFault.ofProbe();
  }
}
