package io.kvsep.server.redis;

import java.nio.ByteBuffer;

/**
 * Bits of a value that begins at position 0 of a buffer. Bit 0 is the highest bit of the first
 * byte. Bits after the end of the value are 0.
 */
final class Bits {
  private Bits() {}

  static int get(ByteBuffer value, long bit) {
    long index = bit >>> 3;
    return index < value.limit() ? value.get((int) index) >>> (7 - (bit & 7)) & 1 : 0;
  }

  static void set(ByteBuffer value, long bit, int to) {
    int index = (int) (bit >>> 3);
    int mask = 0x80 >>> (bit & 7);
    int old = value.get(index);
    value.put(index, (byte) (to == 0 ? old & ~mask : old | mask));
  }

  /** Counts the ones between two bits, both inclusive and within the value. */
  static long count(ByteBuffer value, long from, long to) {
    long ones = 0;
    long at = from;
    while (at <= to) {
      if (isWholeLong(at, to)) {
        ones += Long.bitCount(value.getLong((int) (at >>> 3)));
        at += Long.SIZE;
      } else {
        ones += get(value, at++);
      }
    }
    return ones;
  }

  /** Finds the first wanted bit between two bits, both inclusive; -1 if there is none. */
  static long find(ByteBuffer value, int wanted, long from, long to) {
    long others = wanted == 0 ? -1 : 0;
    long at = from;
    while (at <= to) {
      if (isWholeLong(at, to) && value.getLong((int) (at >>> 3)) == others) {
        at += Long.SIZE;
      } else if (get(value, at) == wanted) {
        return at;
      } else {
        at++;
      }
    }
    return -1;
  }

  private static boolean isWholeLong(long at, long to) {
    return (at & 7) == 0 && to - at >= Long.SIZE - 1;
  }

  /** Reads up to 64 bits as an unsigned number. */
  static long number(ByteBuffer value, long from, int width) {
    long number = 0;
    for (int i = 0; i < width; i++) {
      number = number << 1 | get(value, from + i);
    }
    return number;
  }

  static void setNumber(ByteBuffer value, long from, int width, long number) {
    for (int i = 0; i < width; i++) {
      set(value, from + i, (int) (number >>> (width - 1 - i)) & 1);
    }
  }
}
