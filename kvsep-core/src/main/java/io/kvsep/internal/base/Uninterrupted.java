package io.kvsep.internal.base;

import java.util.concurrent.CountDownLatch;

/** Waits that an interrupt does not end; the flag is set again then. */
public final class Uninterrupted {
  private Uninterrupted() {}

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
