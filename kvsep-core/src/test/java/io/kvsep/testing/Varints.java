package io.kvsep.testing;

import java.io.ByteArrayOutputStream;

/** Numbers in groups of seven bits, lowest first, as they stand in the files of a store. */
final class Varints {
  private final byte[] bytes;
  private int position;

  /** Reads from {@code position} on. */
  Varints(byte[] bytes, int position) {
    this.bytes = bytes;
    this.position = position;
  }

  int position() {
    return position;
  }

  void skip(int count) {
    position += count;
  }

  /**
   * The number that begins here, and the place behind it.
   *
   * @throws IndexOutOfBoundsException at the end of the bytes
   */
  long next() {
    long number = 0;
    for (int shift = 0; ; shift += 7) {
      byte group = bytes[position++];
      number |= (group & 0x7fL) << shift;
      if (group >= 0) {
        return number;
      }
    }
  }

  int nextInt() {
    return Math.toIntExact(next());
  }

  /** In ten groups where it is negative, which no file has. */
  static void put(ByteArrayOutputStream out, long number) {
    long rest = number;
    while ((rest & ~0x7fL) != 0) {
      out.write((int) (rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    out.write((int) rest);
  }

  static byte[] of(long number) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    put(out, number);
    return out.toByteArray();
  }
}
