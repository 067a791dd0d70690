package io.kvsep.internal.write;

import io.kvsep.internal.read.FoundEntry;
import io.kvsep.internal.read.StoreReads;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Counters as values: a signed 64-bit number, big-endian. */
public final class Counters {
  public static final int BYTES = 8;

  private Counters() {}

  /** What the value counts, 0 when it is absent. */
  public static long count(byte @Nullable [] value) {
    if (value == null) {
      return 0;
    }
    requireLength(value.length);
    long count = 0;
    for (byte next : value) {
      count = count << 8 | (next & 0xff);
    }
    return count;
  }

  /** What the key counts by now, 0 when it is absent. A value that is no counter is not read. */
  static long read(StoreReads reads, int keyspace, byte[] key) {
    return count(reads.readWithInfo(keyspace, key, StoreReads.LATEST, BYTES, Counters::bytes));
  }

  /**
   * The value of an entry that is a counter; others are refused by their length.
   *
   * @param view null where the value is longer than a counter
   */
  public static byte[] bytes(FoundEntry found, @Nullable ByteBuffer view) {
    requireLength(found.valueLength());
    byte[] bytes = new byte[BYTES];
    if (view != null) {
      view.get(bytes);
    }
    return bytes;
  }

  private static void requireLength(int length) {
    if (length != BYTES) {
      throw new IllegalArgumentException(
          "the value has " + length + " bytes, a counter has " + BYTES);
    }
  }

  public static byte[] value(long count) {
    byte[] value = new byte[BYTES];
    for (int i = 0; i < BYTES; i++) {
      value[i] = (byte) (count >>> (8 * (BYTES - 1 - i)));
    }
    return value;
  }

  /** The sum, which must not overflow. */
  public static long add(long count, long delta) {
    long sum = count + delta;
    if (((count ^ sum) & (delta ^ sum)) < 0) {
      throw new ArithmeticException("the counter would overflow: " + count + " + " + delta);
    }
    return sum;
  }
}
