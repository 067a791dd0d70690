package io.kvsep.internal.concurrent;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Waits for threads that may be interrupted. The interrupt status is preserved. */
public final class Uninterruptibles {
  private Uninterruptibles() {}

  /**
   * As {@link LockSupport#parkNanos}, but also waits in a thread that is already interrupted. An
   * interrupt during the wait ends it; the wait may also end early.
   */
  public static void pause(long nanos) {
    boolean interrupted = Thread.interrupted();
    try {
      if (interrupted) {
        // An interrupt also leaves a permit, which would end the next park.
        LockSupport.parkNanos(1);
      }
      LockSupport.parkNanos(nanos);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns when the latch is at zero. */
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
