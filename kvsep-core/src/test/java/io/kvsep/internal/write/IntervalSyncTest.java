package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ForwardingScheduler;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Batches that are to be durable some time after they were written, whatever the store's own is.
 */
final class IntervalSyncTest {
  private static final long SECOND = 1_000_000_000L;

  private final CrashableStorage storage = new CrashableStorage();
  private final ManualScheduler manual = new ManualScheduler(1, 1);
  private final List<Long> delays = new ArrayList<>();
  private final Scheduler scheduler =
      new ForwardingScheduler(manual) {
        @Override
        public void after(long delayNanos, Runnable task) {
          delays.add(delayNanos);
          super.after(delayNanos, task);
        }
      };
  private long now;

  private StorageEngine open(CommitSync sync) {
    return StorageEngine.open(config(sync).build());
  }

  private ConfigDraft config(CommitSync sync) {
    return ConfigDraft.of(
            Engines.config(storage, sync, new ManualClock(1_000), new Random(1), scheduler))
        .syncIntervalNanos(SECOND)
        .ticker(() -> now);
  }

  private static void write(StorageEngine engine, String key, long syncNanos) {
    write(engine, key, new byte[3], syncNanos);
  }

  private static void write(StorageEngine engine, String key, byte[] value, long syncNanos) {
    BatchWrites batch = new BatchWrites();
    batch.put(0, key.getBytes(UTF_8), value, 0);
    engine.writes().writeSyncedWithin(batch, syncNanos);
  }

  /** What a power failure leaves of a key. */
  private byte @Nullable [] left(String key) {
    try (StorageEngine engine =
        Engines.open(storage.moment().crashSyncedOnly(), new ManualScheduler(2, 1))) {
      return engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
    }
  }

  @Test
  void aBatchIsSyncedByItselfInAStoreThatNeverIs() {
    try (StorageEngine engine = open(CommitSync.ON_DEMAND)) {
      write(engine, "a", SECOND);
      assertNull(left("a"));
      manual.tick();
      assertNotNull(left("a"));
      write(engine, "b", SECOND);
      manual.tick();
      assertNotNull(left("b"));
    }
  }

  @Test
  void oneSyncIsForAllThatAreDueLater() {
    try (StorageEngine engine = open(CommitSync.EVERY_COMMIT)) {
      write(engine, "a", SECOND);
      now = SECOND / 2;
      write(engine, "b", SECOND);
      assertEquals(List.of(SECOND), delays);
      write(engine, "c", SECOND / 4);
      assertEquals(List.of(SECOND, SECOND / 4), delays);
      long syncs = engine.stats().syncs();
      manual.tick();
      assertEquals(syncs + 1, engine.stats().syncs());
      assertNotNull(left("c"));
    }
  }

  @Test
  void aStoreThatIsSyncedMoreOftenNeedsNothingElse() {
    try (StorageEngine engine = open(CommitSync.INTERVAL)) {
      write(engine, "a", SECOND);
      write(engine, "b", 2 * SECOND);
      assertEquals(List.of(), delays);
      write(engine, "c", SECOND / 10);
      assertEquals(List.of(SECOND / 10), delays);
    }
  }

  @Test
  void longAndShortTimesInTurnsMakeFewTasks() {
    PriorityQueue<Long> due = new PriorityQueue<>();
    Map<Long, Runnable> tasks = new HashMap<>();
    Scheduler patient =
        new ForwardingScheduler(manual) {
          @Override
          public void after(long delayNanos, Runnable task) {
            due.add(now + delayNanos);
            tasks.put(now + delayNanos, task);
          }
        };
    EngineConfig config =
        ConfigDraft.of(
                Engines.config(
                    storage, CommitSync.ON_DEMAND, new ManualClock(1_000), new Random(1), patient))
            .ticker(() -> now)
            .build();
    try (StorageEngine engine = StorageEngine.open(config)) {
      for (int i = 0; i < 100; i++) {
        write(engine, "long-" + i, 86_400 * SECOND);
        write(engine, "short-" + i, SECOND);
        now += SECOND;
        while (!due.isEmpty() && due.peek() <= now) {
          Objects.requireNonNull(tasks.remove(due.remove())).run();
        }
        assertNotNull(left("short-" + i));
        assertTrue(due.size() <= 2, due.size() + " tasks");
      }
    }
  }

  @Test
  void anErrorInASyncFailsTheStore() {
    boolean[] fails = new boolean[1];
    ForwardingStorage scarce =
        new ForwardingStorage(storage) {
          @Override
          protected StorageFile wrap(StorageFile file) {
            return new ForwardingFile(file) {
              @Override
              public void sync() throws IOException {
                if (fails[0]) {
                  fails[0] = false;
                  throw new OutOfMemoryError("as a test wants it");
                }
                super.sync();
              }
            };
          }
        };
    StorageEngine engine = StorageEngine.open(config(CommitSync.ON_DEMAND).storage(scarce).build());
    write(engine, "a", SECOND);
    fails[0] = true;
    manual.tick();
    StoreFailedException failed =
        assertThrows(StoreFailedException.class, () -> write(engine, "b", SECOND));
    assertInstanceOf(OutOfMemoryError.class, failed.getCause());
    assertThrows(StoreFailedException.class, engine::close);
  }
}
