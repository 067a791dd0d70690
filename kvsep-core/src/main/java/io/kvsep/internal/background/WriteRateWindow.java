package io.kvsep.internal.background;

import java.util.Arrays;
import java.util.function.LongSupplier;

/**
 * Increase of a counter within the last two seconds; longer if {@link #tick} is called less than
 * ten times a second. Thread safe, except for {@link #tick}.
 */
public final class WriteRateWindow {
  /** Length of the window. */
  public static final double SECONDS = 2;

  private static final int TICKS = 20;

  private final LongSupplier count;

  /** A ring buffer of the count at the last ticks. */
  private final long[] counts = new long[TICKS];

  private int next;
  private volatile long before;

  public WriteRateWindow(LongSupplier count) {
    this.count = count;
    this.before = count.getAsLong();
    Arrays.fill(counts, before);
  }

  public void tick() {
    before = counts[next];
    counts[next] = count.getAsLong();
    next = (next + 1) % TICKS;
  }

  public long bytes() {
    return count.getAsLong() - before;
  }
}
