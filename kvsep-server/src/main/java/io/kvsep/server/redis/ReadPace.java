package io.kvsep.server.redis;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How long reading commands take, from samples: usually microseconds, but more where values have to
 * come from the device. Then they are not for event loops. Thread safe.
 */
final class ReadPace {
  /** One command in so many is timed; a power of two. */
  static final int INTERVAL = 16;

  private static final long SLOW_NANOS = 100_000;

  /** A thread that did not get a processor looks no slower than this. */
  private static final long SAMPLE_NANOS_MAX = 1_000_000;

  private static final int WEIGHT = 32;

  private final AtomicLong averageNanos = new AtomicLong();

  void note(long nanos) {
    long average = averageNanos.get();
    // Where two threads note at once one of the samples may be lost.
    averageNanos.set(average + (Math.min(nanos, SAMPLE_NANOS_MAX) - average) / WEIGHT);
  }

  boolean isSlow() {
    return averageNanos.get() > SLOW_NANOS;
  }
}
