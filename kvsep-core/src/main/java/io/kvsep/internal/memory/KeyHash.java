package io.kvsep.internal.memory;

/**
 * The 64-bit key hash of filters: multiplies and folds eight bytes at a time, like the wyhash
 * family. Persisted, so a change breaks the table format.
 */
public final class KeyHash {
  private static final long K0 = 0x9e3779b97f4a7c15L;
  private static final long K1 = 0xbf58476d1ce4e5b9L;
  private static final long K2 = 0x94d049bb133111ebL;

  private KeyHash() {}

  public static long of(Region region, long offset, int length) {
    long hash = K0 ^ length * K1;
    int i = 0;
    for (; i + 8 <= length; i += 8) {
      hash = fold(hash ^ region.getLong(offset + i), K1);
    }
    long tail = i < length ? Long.reverseBytes(region.keyPrefix(offset + i, length - i)) : 0;
    hash = fold(hash ^ tail, K2);
    return fold(hash, K0);
  }

  /** Combines both halves of the product, so that every input bit affects every output bit. */
  private static long fold(long a, long b) {
    return a * b ^ Math.multiplyHigh(a, b) ^ a >>> 32;
  }
}
