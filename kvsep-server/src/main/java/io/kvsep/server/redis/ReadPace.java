package io.kvsep.server.redis;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Average duration of read commands, from samples. It is usually microseconds, but more if values
 * are read from the device; then reads are not for event loops. Thread safe.
 */
final class ReadPace {
  /** One command in this many is timed; a power of two. */
  static final int INTERVAL = 16;

  private static final long SLOW_NANOS = 100_000;

  /** Upper bound of a sample, because the thread may have waited for a processor. */
  private static final long SAMPLE_NANOS_MAX = 1_000_000;

  private static final int WEIGHT = 32;

  private final AtomicLong averageNanos = new AtomicLong();

  void note(long nanos) {
    long average = averageNanos.get();
    // Concurrent calls may lose a sample.
    averageNanos.set(average + (Math.min(nanos, SAMPLE_NANOS_MAX) - average) / WEIGHT);
  }

  boolean isSlow() {
    return averageNanos.get() > SLOW_NANOS;
  }
}
