package io.kvsep.internal.concurrent;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Waits of threads that may have been interrupted; the flag is set again then. */
public final class Uninterruptibles {
  private Uninterruptibles() {}

  /**
   * Waits for so long, or less, as {@link LockSupport#parkNanos}, which would not wait at all in a
   * thread that has been interrupted. An interrupt that comes during the wait ends it.
   */
  public static void pause(long nanos) {
    boolean interrupted = Thread.interrupted();
    try {
      if (interrupted) {
        // An interrupt also leaves the thread a permit, with which it would not park either.
        LockSupport.parkNanos(1);
      }
      LockSupport.parkNanos(nanos);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns when the latch has come to zero. */
  public static void await(CountDownLatch latch) {
    boolean interrupted = false;
    while (latch.getCount() > 0) {
      try {
        latch.await();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
