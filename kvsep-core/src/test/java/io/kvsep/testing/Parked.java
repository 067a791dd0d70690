package io.kvsep.testing;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** Waits until threads wait. */
public final class Parked {
  private Parked() {}

  /**
   * Returns once all of them wait, with a time limit or without, or have ended, or after half a
   * minute, when the test will say what is wrong.
   */
  public static void await(List<Thread> threads) {
    await(threads, Parked::waits);
  }

  /** As {@link #await}, for a thread that waits for a monitor. */
  public static void awaitBlocked(Thread thread) {
    await(
        List.of(thread),
        it -> it.getState() == Thread.State.BLOCKED || it.getState() == Thread.State.TERMINATED);
  }

  private static void await(List<Thread> threads, Predicate<Thread> waits) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (System.nanoTime() < deadline) {
      if (threads.stream().allMatch(waits)) {
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
