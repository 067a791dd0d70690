package io.kvsep.internal.memory;

/**
 * Unsigned variable-length integers, seven bits per byte, lowest first; the high bit means that
 * more follow. Always minimal, so {@code next = offset + Varint.length(value)}.
 */
public final class Varint {
  public static final int BYTES_MAX = 10;

  private Varint() {}

  /** From 1 to {@link #BYTES_MAX}. */
  public static int length(long value) {
    return (70 - Long.numberOfLeadingZeros(value | 1)) / 7;
  }

  /** Returns the offset after the value. */
  public static long put(Region region, long offset, long value) {
    long rest = value;
    long at = offset;
    while ((rest & ~0x7fL) != 0) {
      region.putByte(at++, (byte) (rest | 0x80));
      rest >>>= 7;
    }
    region.putByte(at++, (byte) rest);
    return at;
  }

  public static long get(Region region, long offset) {
    long first = region.getByte(offset);
    if (first >= 0) {
      return first;
    }
    long value = first & 0x7f;
    for (int i = 1; i < BYTES_MAX; i++) {
      long next = region.getByte(offset + i);
      value |= (next & 0x7f) << (7 * i);
      if (next >= 0) {
        return value;
      }
    }
    throw new IndexOutOfBoundsException("varint without end at offset=" + offset);
  }

  /**
   * High bits of those of the lower seven bytes that end a value; zero if the first value is
   * longer.
   */
  public static long ends(long word) {
    return ~word & 0x80_8080_8080_8080L;
  }

  public static int lengthTo(long ends) {
    return (Long.numberOfTrailingZeros(ends) >>> 3) + 1;
  }

  /** The first value in a word; packs groups of seven bits in three steps. */
  public static long first(long word, long ends) {
    long groups = word & (ends ^ ends - 1) & 0x7f_7f7f_7f7f_7f7fL;
    groups = (groups & 0x7f_007f_007f_007fL) | (groups & 0x7f00_7f00_7f00L) >>> 1;
    groups = (groups & 0x3fff_0000_3fffL) | (groups & 0x7f_0000_3fff_0000L) >>> 2;
    return (groups & 0x0fff_ffffL) | (groups & 0x1f_ffff_0000_0000L) >>> 4;
  }

  /** Reads a value that must fit a non-negative int. */
  public static int getInt(Region region, long offset) {
    long value = get(region, offset);
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw new IndexOutOfBoundsException("varint=" + value + " at offset=" + offset);
    }
    return (int) value;
  }
}
