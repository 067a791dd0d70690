package io.kvsep.internal.memory;

/**
 * Unsigned variable-length integers, seven bits a byte, lowest first, the high bit meaning that
 * more follow. Values are always written in the fewest bytes, so a reader learns the encoded length
 * from the value: {@code next = offset + Varint.length(value)}.
 */
public final class Varint {
  /** Longest encoding of a long. */
  public static final int BYTES_MAX = 10;

  private Varint() {}

  /** Bytes {@code value} takes, 1 to {@link #BYTES_MAX}. */
  public static int length(long value) {
    return (70 - Long.numberOfLeadingZeros(value | 1)) / 7;
  }

  /** Writes {@code value} and returns the offset behind it. */
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

  /** Reads the value at {@code offset}. */
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

  /** Reads a value that must fit a non-negative int. */
  public static int getInt(Region region, long offset) {
    long value = get(region, offset);
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw new IndexOutOfBoundsException("varint=" + value + " at offset=" + offset);
    }
    return (int) value;
  }
}
