package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.RefusingScheduler;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * There is no thread for background work. No caller waits for ever or takes a committed write for
 * failed, and once there are threads everything continues.
 */
// What is tried here hangs when it fails, and does not heed interrupts.
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
final class ThreadShortageTest {
  private static final int WRITES_MAX = 10_000;
  private static final int TICKS = 200;

  private CrashableStorage storage = new CrashableStorage();
  private final Map<String, byte[]> written = new TreeMap<>();
  private ManualScheduler manual = new ManualScheduler(1, 2);
  private RefusingScheduler scheduler = new RefusingScheduler(manual);
  private StorageEngine engine = open();

  private StorageEngine open() {
    manual = new ManualScheduler(1, 2);
    scheduler = new RefusingScheduler(manual);
    EngineConfig base = Engines.config(storage, scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 16 << 10);
    return StorageEngine.open(ConfigDraft.of(base).reclaim(Engines.reclaim(goal)).build());
  }

  private static byte[] value(int i) {
    byte[] value = new byte[200];
    new Random(i).nextBytes(value);
    return value;
  }

  private void put(String key, byte[] value) {
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
    written.put(key, value);
  }

  /** Writes until a write is refused, and returns what was said. */
  private StorageException writeUntilRefused() {
    for (int i = 0; i < WRITES_MAX; i++) {
      try {
        put("key-" + i, value(i));
      } catch (StorageException e) {
        assertNull(engine.reads().get(0, ("key-" + i).getBytes(UTF_8), StoreReads.LATEST));
        return e;
      }
    }
    throw new AssertionError("no write was refused");
  }

  /** What happens as time passes. */
  private void pass() {
    for (int i = 0; i < TICKS; i++) {
      manual.tick();
      manual.runAll();
    }
  }

  private void check() {
    written.forEach(
        (key, value) -> {
          byte[] found = engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
          assertArrayEquals(value, found, key);
        });
  }

  private void closeAndCheck() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    storage = storage.crashSyncedOnly();
    engine = open();
    check();
    engine.close();
  }

  @ParameterizedTest
  @EnumSource(names = {"FLUSH", "COMPACTION"})
  void writersHearOfItAndGoOnOnceThereAreThreads(Lane lane) {
    scheduler.refuse(lane);
    StorageException refused = writeUntilRefused();
    assertInstanceOf(RefusingScheduler.NoThread.class, refused.getCause());
    check();
    scheduler.refuse();
    pass();
    for (int i = 0; i < 500; i++) {
      put("later-" + i, value(i));
    }
    check();
    closeAndCheck();
  }

  @ParameterizedTest
  @EnumSource(names = {"FLUSH", "COMPACTION"})
  void whatRunsOnTheCallersThreadNeedsNone(Lane lane) {
    scheduler.refuse(lane);
    writeUntilRefused();
    engine.flush();
    engine.compact();
    engine.reclaim();
    put("later", value(1));
    check();
    closeAndCheck();
  }

  @ParameterizedTest
  @EnumSource(names = {"FLUSH", "COMPACTION"})
  void closingLosesNothing(Lane lane) {
    scheduler.refuse(lane);
    writeUntilRefused();
    closeAndCheck();
  }

  /** A batch that fills all memtables there may be and more, when it is in the log already. */
  @Test
  void aBatchThatIsCommittedIsNotSaidToHaveFailed() {
    scheduler.refuse(Lane.FLUSH, Lane.COMPACTION, Lane.RECLAIM);
    put("before", value(1));
    BatchWrites batch = new BatchWrites();
    for (int i = 0; i < 1_000; i++) {
      String key = "batch-" + i;
      byte[] value = Arrays.copyOf(value(i), 50);
      batch.put(0, key.getBytes(UTF_8), value, 0);
      written.put(key, value);
    }
    engine.writes().write(batch, null);
    check();
    scheduler.refuse();
    pass();
    put("after", value(2));
    check();
    closeAndCheck();
  }

  @Test
  void reclaimIsTriedAgain() {
    scheduler.refuse(Lane.RECLAIM);
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 50; i++) {
        put("key-" + i, value(round * 50 + i));
      }
      manual.tick();
      manual.runAll();
    }
    assertEquals(0, engine.stats().reclaim().filesRewritten());
    scheduler.refuse();
    pass();
    assertTrue(engine.stats().reclaim().filesRewritten() > 0);
    check();
    closeAndCheck();
  }
}
