package io.kvsep.server.redis;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** Commands that were answered, altogether and in the last full second. Thread safe. */
final class CommandRate {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final LongAdder total = new LongAdder();

  /** The second that has begun last, and what there was before it. */
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
