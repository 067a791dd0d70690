package io.kvsep.internal.concurrent;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Waits that preserve the interrupt status. */
public final class Uninterruptibles {
  private Uninterruptibles() {}

  /**
   * Like {@link LockSupport#parkNanos}, but waits in an interrupted thread too. A new interrupt
   * ends the wait; it may also end early.
   */
  public static void pause(long nanos) {
    boolean interrupted = Thread.interrupted();
    try {
      if (interrupted) {
        // Consumes the permit that an interrupt leaves.
        LockSupport.parkNanos(1);
      }
      LockSupport.parkNanos(nanos);
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

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
