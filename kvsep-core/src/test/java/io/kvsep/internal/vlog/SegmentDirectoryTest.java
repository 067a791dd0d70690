package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.LogFixture.Indexed;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class SegmentDirectoryTest {
  private static final int OPEN_FILES_MAX = 256;

  private final LogFixture log = new LogFixture();

  /**
   * A reader opens one file too many and closes another, for which the epochs do what was put off:
   * unlist a segment. Another thread unlists one at that moment.
   */
  @Test
  void aReaderThatClosesAFileDoesNotHoldUpWhoUnlistsOne() throws Exception {
    List<Indexed> spread = new ArrayList<>();
    for (int segment = 1; segment <= OPEN_FILES_MAX + 10; segment++) {
      spread.add(append(segment));
    }
    for (int i = 0; i < OPEN_FILES_MAX; i++) {
      log.read(spread.get(i));
    }
    assertEquals(OPEN_FILES_MAX + 1, log.storage.openFiles().size(), "with that of the active one");
    CountDownLatch mayLeave = new CountDownLatch(1);
    Thread slow = new Thread(() -> stayInside(mayLeave), "slow");
    slow.setDaemon(true);
    start(slow);
    log.epochs.retire(() -> free(2));
    log.epochs.retire(() -> free(3));
    Thread unlisting = new Thread(log.epochs::collect, "unlisting");
    unlisting.setDaemon(true);
    log.storage.failNext(
        Fault.EIO,
        operation -> {
          if (operation == Operation.OPEN && unlisting.getState() == Thread.State.NEW) {
            mayLeave.countDown();
            awaitEnd(slow);
            start(unlisting);
          }
          return false;
        });
    Thread reading = new Thread(() -> log.read(spread.get(OPEN_FILES_MAX)), "reading");
    reading.setDaemon(true);

    reading.start();
    reading.join(60_000);
    assertFalse(reading.isAlive(), "the reader stands still");
    unlisting.join(60_000);
    assertFalse(unlisting.isAlive(), "who unlists stands still");
    log.storage.clearFaults();
    log.epochs.drain();
    assertEquals(null, log.directory.find(2));
    assertEquals(null, log.directory.find(3));
    // Not where the test failed: it would wait for the threads that stand still.
    log.close();
  }

  /** As when a few values are never overwritten, and what was written beside them always is. */
  @Test
  void filesWithIdsFarApartAreFoundAndCostNoMoreThanOthers() throws IOException {
    long[] ids = {1, 5, 4_000_000_000L, 9_000_000_000L, 9_000_000_001L, 9_000_000_900L};
    List<Indexed> spread = new ArrayList<>();
    long bytes = 0;
    for (long id : ids) {
      spread.add(append(id));
    }
    for (int i = 0; i < ids.length; i++) {
      log.read(spread.get(i));
      bytes += Objects.requireNonNull(log.directory.find(ids[i])).publishedEnd();
    }
    assertEquals(bytes, log.directory.bytes());
    assertEquals(ids(ids), listed());
    for (long absent : new long[] {0, 2, 6, 4_000_000_001L, 9_000_000_002L, 9_000_000_901L}) {
      assertNull(log.directory.find(absent));
    }
    free(5);
    free(9_000_000_000L);
    assertEquals(ids(1, 4_000_000_000L, 9_000_000_001L, 9_000_000_900L), listed());
    log.read(spread.get(2));
    assertNull(log.directory.find(5));
    log.close();
  }

  private static List<Long> ids(long... ids) {
    return LongStream.of(ids).boxed().toList();
  }

  private List<Long> listed() {
    return log.directory.all().stream().map(Segment::id).toList();
  }

  private Indexed append(long segment) throws IOException {
    log.startSegment(segment);
    byte[] value = LogFixture.random(new Random(segment), 20_000);
    Indexed entry = log.entries(log.append(segment, LogFixture.put("key" + segment, value))).get(0);
    log.writer.sync();
    return entry;
  }

  private void free(long id) {
    Segment segment = log.directory.unlist(id);
    if (segment != null) {
      log.epochs.retire(segment::free);
    }
  }

  /** Returns once the thread has ended or can do nothing before the caller goes on. */
  private void stayInside(CountDownLatch mayLeave) {
    EpochSlot<SlotContext> slot = log.epochs.enter();
    try {
      mayLeave.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    } finally {
      log.epochs.exit(slot);
    }
  }

  private static void awaitEnd(Thread thread) {
    while (thread.isAlive()) {
      Thread.onSpinWait();
    }
  }

  private static void start(Thread thread) {
    thread.start();
    while (thread.getState() == Thread.State.NEW || thread.getState() == Thread.State.RUNNABLE) {
      Thread.onSpinWait();
    }
  }
}
