package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.HeldSyncs;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The log goes on in other segments while a sync is at work, and nothing is left out by that. */
final class SwitchDuringSyncTest {
  private final CrashableStorage storage = new CrashableStorage();
  private final HeldSyncs held = new HeldSyncs(storage);
  private final LogFixture log = new LogFixture(storage, held);
  private final CountDownLatch reached = new CountDownLatch(1);
  private final CountDownLatch free = new CountDownLatch(1);
  private final Segment first = segment(1);
  private final Segment second = segment(2);
  private final Segment third = segment(3);

  SwitchDuringSyncTest() throws IOException {
    log.writer.switchTo(first);
    log.append(1, LogFixture.put("a", "1"));
  }

  @AfterEach
  void close() {
    log.close();
  }

  @Test
  void theAppendingThreadDoesNotWaitForASync()
      throws IOException, InterruptedException, ExecutionException {
    LogPosition before = log.writer.end();
    CompletableFuture<Void> sync = heldSync();
    // A failure of these two is that they wait for ever.
    assertTimeoutPreemptively(
        Duration.ofMinutes(1),
        () -> {
          log.writer.switchTo(second);
          log.append(2, LogFixture.put("b", "2"));
          log.writer.switchTo(third);
          log.append(3, LogFixture.put("c", "3"));
        });
    free.countDown();
    sync.get();
    assertEquals(before, log.writer.durable());
    assertTrue(log.writer.isDirty());
    byte[] durable = storage.moment().crashSyncedOnly().contents(first.name());
    assertTrue(durable.length >= before.offset());
    storage.clearTrace();
    log.writer.sync();
    assertEquals(log.writer.end(), log.writer.durable());
    assertFalse(log.writer.isDirty());
    // The first as well: it was sealed behind the sync that it was the end of.
    assertEquals(
        List.of("sync " + first.name(), "sync " + second.name(), "sync " + third.name()),
        storage.trace().stream().filter(line -> line.startsWith("sync")).toList());
  }

  @Test
  void whatWasSealedBeforeASyncBeganIsSyncedByIt()
      throws IOException, InterruptedException, ExecutionException {
    log.writer.switchTo(second);
    log.append(2, LogFixture.put("b", "2"));
    LogPosition before = log.writer.end();
    CompletableFuture<Void> sync = heldSync();
    log.writer.switchTo(third);
    log.append(3, LogFixture.put("c", "3"));
    free.countDown();
    sync.get();
    assertEquals(before, log.writer.durable());
    CrashableStorage left = storage.crashSyncedOnly();
    for (Segment synced : List.of(first, second)) {
      assertEquals(synced.publishedEnd(), left.contents(synced.name()).length);
    }
  }

  /** A sync on another thread, which is held at its first file. */
  private CompletableFuture<Void> heldSync() throws InterruptedException {
    held.hold(reached, free);
    CompletableFuture<Void> sync =
        CompletableFuture.runAsync(
            () -> {
              try {
                log.writer.sync();
              } catch (IOException e) {
                throw new AssertionError(e);
              }
            });
    reached.await();
    return sync;
  }

  private Segment segment(long id) throws IOException {
    Segment segment = log.writer.createSegment(id);
    log.writer.syncCreated(segment);
    log.directory.add(segment);
    return segment;
  }
}
