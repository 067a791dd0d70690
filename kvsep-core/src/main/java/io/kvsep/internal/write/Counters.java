package io.kvsep.internal.write;

import io.kvsep.EntryInfo;
import io.kvsep.internal.read.StoreReads;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Counters stored as values: signed 64-bit, big-endian. */
public final class Counters {
  public static final int BYTES = 8;

  private Counters() {}

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

  /** The current counter, 0 if absent. A value of another length is refused unread. */
  static long read(StoreReads reads, int keyspace, byte[] key) {
    return count(reads.readWithInfo(keyspace, key, StoreReads.LATEST, BYTES, Counters::bytes));
  }

  /**
   * Copies a counter's value; refuses values of another length.
   *
   * @param view null if the value is longer than a counter
   */
  public static byte[] bytes(EntryInfo found, @Nullable ByteBuffer view) {
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

  /** The sum. Throws {@link ArithmeticException} on overflow. */
  public static long add(long count, long delta) {
    long sum = count + delta;
    if (((count ^ sum) & (delta ^ sum)) < 0) {
      throw new ArithmeticException("the counter would overflow: " + count + " + " + delta);
    }
    return sum;
  }
}
