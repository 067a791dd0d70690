package io.kvsep.testing;

import java.util.List;
import java.util.concurrent.TimeUnit;

/** Waits until threads wait. */
public final class Parked {
  private Parked() {}

  /**
   * Returns once all of them wait, with a time limit or without, or have ended, or after half a
   * minute, when the test will say what is wrong.
   */
  public static void await(List<Thread> threads) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (System.nanoTime() < deadline) {
      if (threads.stream().allMatch(Parked::waits)) {
        return;
      }
      Thread.onSpinWait();
    }
  }

  private static boolean waits(Thread thread) {
    Thread.State state = thread.getState();
    return state == Thread.State.WAITING
        || state == Thread.State.TIMED_WAITING
        || state == Thread.State.TERMINATED;
  }
}
