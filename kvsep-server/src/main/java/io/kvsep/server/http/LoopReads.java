package io.kvsep.server.http;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Decides whether small values may be read on an event loop. That saves two thread switches, most
 * of the cost of a read from memory. Thread safe.
 *
 * <p>A read takes no lock and waits for no writer; it can only block on a page fault. So reads are
 * timed. If they take more than {@value #SLOW_MICROS} microseconds on average, other threads read
 * for {@value #PAUSE_MILLIS} milliseconds, and again as soon as a read is slow after that. With
 * data larger than memory, a loop thus waits for the device only a few times a second.
 *
 * <p>A single slow read proves nothing: with more threads than processors, some are always
 * preempted in the middle of one.
 */
final class LoopReads {
  private static final long SLOW_MICROS = 50;
  private static final long PAUSE_MILLIS = 200;

  private static final long SLOW_NANOS = TimeUnit.MICROSECONDS.toNanos(SLOW_MICROS);

  /** Cap of a sample, so a preempted thread does not dominate the average. */
  private static final long SAMPLE_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(1);

  private static final int WEIGHT = 32;

  private final AtomicLong pausedUntilNanos = new AtomicLong(System.nanoTime());
  private final AtomicLong averageNanos = new AtomicLong();

  boolean areAllowed(long nowNanos) {
    return nowNanos - pausedUntilNanos.get() >= 0;
  }

  void took(long startNanos, long endNanos) {
    long average = averageNanos.get();
    average += (Math.min(endNanos - startNanos, SAMPLE_NANOS_MAX) - average) / WEIGHT;
    if (average > SLOW_NANOS) {
      pausedUntilNanos.set(endNanos + TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS));
      average = SLOW_NANOS;
    }
    // Two loops may race and lose a sample, which does no harm.
    averageNanos.set(average);
  }
}
