package io.kvsep.server.http;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Whether small values may be read on an event loop, which saves two changes of threads, the better
 * part of what a read of something in memory costs. Thread safe.
 *
 * <p>A read takes no lock and waits for no writer; all it can wait for is a page that the device
 * has to bring. So each one is timed. When they take more than {@value #SLOW_MICROS} microseconds
 * on average, all of them are kept off the loops for {@value #PAUSE_MILLIS} milliseconds, and again
 * as soon as one is slow after that: where data does not fit into memory, a loop waits for the
 * device some times a second, and everything else is read by other threads.
 *
 * <p>A single slow read says nothing: where there are more threads than processors, some are always
 * interrupted in the middle of one.
 */
final class LoopReads {
  private static final long SLOW_MICROS = 50;
  private static final long PAUSE_MILLIS = 200;

  private static final long SLOW_NANOS = TimeUnit.MICROSECONDS.toNanos(SLOW_MICROS);

  /** A thread that did not get a processor looks no slower than this. */
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
    // Where two loops come at once one of the samples may be lost.
    averageNanos.set(average);
  }
}
