package io.kvsep.testing;

import java.util.Arrays;

/** Bytes of a file, at most 2 GiB. What was never written reads as zero. Not thread safe. */
final class Content {
  private byte[] bytes;
  private int length;

  Content(byte[] bytes) {
    this.bytes = bytes.clone();
    this.length = bytes.length;
  }

  Content copy() {
    return new Content(toBytes());
  }

  byte[] toBytes() {
    return Arrays.copyOf(bytes, length);
  }

  int length() {
    return length;
  }

  byte get(int offset) {
    return bytes[offset];
  }

  void set(int offset, byte value) {
    bytes[offset] = value;
  }

  byte[] array() {
    return bytes;
  }

  void write(int offset, byte[] source, int sourceOffset, int count) {
    extend(Math.addExact(offset, count));
    System.arraycopy(source, sourceOffset, bytes, offset, count);
  }

  /** Grows to at least this length, with zeros. */
  void extend(int lengthMin) {
    if (lengthMin > bytes.length) {
      long doubled = Math.min(2L * bytes.length, Integer.MAX_VALUE - 8);
      bytes = Arrays.copyOf(bytes, Math.max(lengthMin, (int) doubled));
    }
    length = Math.max(length, lengthMin);
  }

  void truncate(int newLength) {
    if (newLength < length) {
      Arrays.fill(bytes, newLength, length, (byte) 0);
      length = newLength;
    }
  }
}
