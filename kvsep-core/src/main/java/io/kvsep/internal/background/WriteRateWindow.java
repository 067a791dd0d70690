package io.kvsep.internal.background;

import java.util.Arrays;
import java.util.function.LongSupplier;

/**
 * How much a count went up within the last two seconds. Thread safe, but for {@link #tick}, which
 * one thread calls ten times a second; called less often, it looks back further.
 */
public final class WriteRateWindow {
  private static final int TICKS = 20;

  private final LongSupplier count;

  /** The count at the last ticks, in a circle. */
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
