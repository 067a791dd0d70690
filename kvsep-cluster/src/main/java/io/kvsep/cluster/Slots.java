package io.kvsep.cluster;

/** Slots of keys, as Redis Cluster has them: CRC-16/XMODEM of the key, or of its tag in braces. */
final class Slots {
  static final int COUNT = 16_384;

  private Slots() {}

  /**
   * If the key has a pair of braces with something between, that alone counts, so that keys can be
   * put into the same slot.
   */
  static int of(byte[] key) {
    int open = indexOf(key, '{', 0);
    int close = open < 0 ? -1 : indexOf(key, '}', open + 1);
    return close > open + 1
        ? crc16(key, open + 1, close) % COUNT
        : crc16(key, 0, key.length) % COUNT;
  }

  private static int indexOf(byte[] key, char wanted, int from) {
    for (int i = from; i < key.length; i++) {
      if (key[i] == wanted) {
        return i;
      }
    }
    return -1;
  }

  private static int crc16(byte[] bytes, int from, int to) {
    int crc = 0;
    for (int i = from; i < to; i++) {
      crc ^= (bytes[i] & 0xff) << 8;
      for (int bit = 0; bit < 8; bit++) {
        crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
      }
    }
    return crc & 0xffff;
  }
}
