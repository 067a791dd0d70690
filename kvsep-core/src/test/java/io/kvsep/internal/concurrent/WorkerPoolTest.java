package io.kvsep.internal.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.concurrent.Scheduler.Lane;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who runs when several stores share threads. */
final class WorkerPoolTest {
  private final BackgroundThreads threads = new BackgroundThreads(2);
  private final List<String> ran = Collections.synchronizedList(new ArrayList<>());
  private final List<Scheduler> schedulers = new ArrayList<>();

  private Scheduler newStore() {
    Scheduler scheduler = new ThreadScheduler(threads, /* ownsThreads= */ false);
    schedulers.add(scheduler);
    return scheduler;
  }

  @AfterEach
  void end() {
    schedulers.forEach(Scheduler::close);
    threads.close();
  }

  /** The only thread of the lane is busy until the returned latch is open. */
  private CountDownLatch occupied(Scheduler store, Lane lane) throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    store.execute(
        lane,
        () -> {
          begun.countDown();
          Uninterruptibles.await(end);
        });
    await(begun);
    return end;
  }

  private static void await(CountDownLatch latch) throws InterruptedException {
    assertTrue(latch.await(60, TimeUnit.SECONDS));
  }

  private void awaitAll(Scheduler store, Lane lane, CountDownLatch end)
      throws InterruptedException {
    CountDownLatch last = new CountDownLatch(1);
    // Of the store with most tasks, so that all others have run.
    store.execute(lane, last::countDown);
    end.countDown();
    await(last);
  }

  @Test
  void storesTakeTurns() throws InterruptedException {
    Scheduler busy = newStore();
    Scheduler other = newStore();
    Scheduler third = newStore();
    CountDownLatch end = occupied(busy, Lane.RECLAIM);
    for (int i = 0; i < 4; i++) {
      busy.execute(Lane.RECLAIM, () -> ran.add("busy"));
    }
    for (int i = 0; i < 2; i++) {
      other.execute(Lane.RECLAIM, () -> ran.add("other"));
    }
    third.execute(Lane.RECLAIM, () -> ran.add("third"));
    awaitAll(busy, Lane.RECLAIM, end);
    assertEquals(List.of("other", "third", "busy", "other", "busy", "busy", "busy"), ran);
  }

  @Test
  void aTaskOfAnyStoreIsPendingUntilItRuns() throws InterruptedException {
    Scheduler busy = newStore();
    Scheduler other = newStore();
    CountDownLatch end = occupied(busy, Lane.RECLAIM);
    assertFalse(busy.hasPending(Lane.RECLAIM));
    other.execute(Lane.RECLAIM, () -> {});
    assertTrue(busy.hasPending(Lane.RECLAIM));
    assertFalse(busy.hasPending(Lane.FLUSH));
    awaitAll(busy, Lane.RECLAIM, end);
    assertFalse(busy.hasPending(Lane.RECLAIM));
  }

  @Test
  void aStoreWhoseWritersWaitComesFirst() throws InterruptedException {
    Scheduler busy = newStore();
    Scheduler waiting = newStore();
    CountDownLatch end = occupied(waiting, Lane.COMPACTION);
    busy.execute(Lane.COMPACTION, () -> ran.add("busy"));
    waiting.execute(Lane.COMPACTION, () -> ran.add("waiting"));
    waiting.hurry();
    awaitAll(busy, Lane.COMPACTION, end);
    assertEquals(List.of("waiting", "busy"), ran);
  }

  @Test
  void aStoreThatAlwaysHurriesLetsOthersRun() throws InterruptedException {
    Scheduler hurried = newStore();
    Scheduler other = newStore();
    CountDownLatch end = occupied(hurried, Lane.FLUSH);
    for (int i = 0; i < 20; i++) {
      hurried.execute(
          Lane.FLUSH,
          () -> {
            ran.add("hurried");
            hurried.hurry();
          });
    }
    hurried.hurry();
    other.execute(Lane.FLUSH, () -> ran.add("other"));
    awaitAll(hurried, Lane.FLUSH, end);
    assertTrue(ran.indexOf("other") <= 4, ran::toString);
  }

  @Test
  void aFlushWaitsForNoCompaction() throws InterruptedException {
    Scheduler busy = newStore();
    Scheduler other = newStore();
    CountDownLatch end = occupied(busy, Lane.COMPACTION);
    busy.execute(Lane.COMPACTION, () -> ran.add("compaction"));
    CountDownLatch flushed = new CountDownLatch(1);
    other.execute(Lane.FLUSH, flushed::countDown);
    await(flushed);
    assertEquals(List.of(), ran);
    end.countDown();
  }

  @Test
  void closingAStoreDropsItsTasksAndNoOthers() throws InterruptedException {
    Scheduler closed = newStore();
    Scheduler other = newStore();
    CountDownLatch end = occupied(other, Lane.LOAD);
    closed.execute(Lane.LOAD, () -> ran.add("closed"));
    other.execute(Lane.LOAD, () -> ran.add("other"));
    closed.close();
    closed.execute(Lane.LOAD, () -> ran.add("late"));
    awaitAll(other, Lane.LOAD, end);
    assertEquals(List.of("other"), ran);
  }

  @Test
  void closingAStoreWaitsForItsRunningTask() throws InterruptedException {
    Scheduler store = newStore();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    store.execute(
        Lane.RECLAIM,
        () -> {
          begun.countDown();
          Uninterruptibles.await(end);
          ran.add("task");
        });
    await(begun);
    Thread closing =
        new Thread(
            () -> {
              store.close();
              ran.add("closed");
            });
    closing.start();
    end.countDown();
    closing.join();
    assertEquals(List.of("task", "closed"), ran);
  }

  @Test
  void aTaskThatThrowsEndsNoThread() throws InterruptedException {
    Scheduler store = newStore();
    CountDownLatch last = new CountDownLatch(1);
    store.execute(
        Lane.RECLAIM,
        () -> {
          throw new AssertionError("as a test wants it");
        });
    store.execute(Lane.RECLAIM, last::countDown);
    await(last);
  }
}
