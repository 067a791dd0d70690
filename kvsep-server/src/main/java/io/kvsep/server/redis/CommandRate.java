package io.kvsep.server.redis;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** Counts commands, in total and in the last full second. Thread safe. */
final class CommandRate {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final LongAdder total = new LongAdder();

  /**
   * Current second of the clock. It changes while synchronized, together with the total at its
   * start and the count of the second before it.
   */
  private volatile long second;

  private long totalBefore;
  private long lastSecond;

  CommandRate(long nowNanos) {
    second = Math.floorDiv(nowNanos, SECOND);
  }

  void add(long count, long nowNanos) {
    if (Math.floorDiv(nowNanos, SECOND) > second) {
      begin(Math.floorDiv(nowNanos, SECOND));
    }
    total.add(count);
  }

  private synchronized void begin(long next) {
    if (next > second) {
      long now = total.sum();
      lastSecond = next == second + 1 ? now - totalBefore : 0;
      totalBefore = now;
      second = next;
    }
  }

  long total() {
    return total.sum();
  }

  synchronized long inLastSecond(long nowNanos) {
    begin(Math.floorDiv(nowNanos, SECOND));
    return lastSecond;
  }
}
