package io.kvsep.internal.concurrent;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.WarningHandler;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What of a real scheduler may not wait behind what. */
final class ThreadSchedulerTest {
  private static final long MILLISECOND = 1_000_000;

  private static void awaitOther(CountDownLatch latch) throws InterruptedException {
    assertTrue(latch.await(60, TimeUnit.SECONDS));
  }

  @Test
  void aRepeatedTaskThatTakesLongHoldsUpNoSync() throws InterruptedException {
    ThreadScheduler scheduler = new ThreadScheduler(2);
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch repeated = new CountDownLatch(3);
    CountDownLatch later = new CountDownLatch(1);
    try {
      scheduler.repeat(
          MILLISECOND,
          () -> {
            begun.countDown();
            Uninterruptibles.await(end);
          });
      awaitOther(begun);
      scheduler.repeat(MILLISECOND, repeated::countDown);
      scheduler.after(MILLISECOND, later::countDown);
      awaitOther(repeated);
      awaitOther(later);
    } finally {
      end.countDown();
      scheduler.close();
    }
    scheduler.after(MILLISECOND, begun::countDown);
  }

  /**
   * As where there is no memory for a record of the log either, or a handler of the user throws.
   */
  @Test
  void aTaskThatFailsIsRepeatedThoughThatCannotBeTold() throws InterruptedException {
    CountDownLatch runs = new CountDownLatch(3);
    try (WarningHandler failing = WarningHandler.failing();
        ThreadScheduler scheduler = new ThreadScheduler(2)) {
      scheduler.repeat(
          MILLISECOND,
          () -> {
            runs.countDown();
            throw new IllegalStateException("as a test wants it");
          });
      awaitOther(runs);
    }
  }
}
