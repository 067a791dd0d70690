package io.kvsep.server.http;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Whether small values may be read on an event loop, which saves two changes of threads, the better
 * part of what a read of something in memory costs.
 *
 * <p>A read takes no lock and waits for no writer; all it can wait for is a page that the device
 * has to bring. So each one is timed. One that took longer than {@value #SLOW_MICROS} microseconds
 * keeps all of them off the loops for {@value #PAUSE_MILLIS} milliseconds. Where data does not fit
 * into memory a loop waits for the device some times a second at most; everything else is read by
 * other threads.
 */
final class LoopReads {
  private static final long SLOW_MICROS = 500;
  private static final long PAUSE_MILLIS = 200;

  private final AtomicLong pausedUntilNanos = new AtomicLong(System.nanoTime());

  boolean areAllowed(long nowNanos) {
    return nowNanos - pausedUntilNanos.get() >= 0;
  }

  void took(long startNanos, long endNanos) {
    if (endNanos - startNanos > TimeUnit.MICROSECONDS.toNanos(SLOW_MICROS)) {
      pausedUntilNanos.set(endNanos + TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS));
    }
  }
}
