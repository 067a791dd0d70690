package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.HeldSyncs;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What must not wait is written as a whole, or left as a whole where it would have to. */
final class TryWriteTest {
  /** Background work happens only when the test says so: writers get ahead of it soon. */
  @Test
  void whatWouldWaitForBackgroundWorkIsLeft() {
    int[] written = new int[2];
    Seeds.each(TryWriteTest.class, 10, random -> run(random, written));

    boolean both = written[0] > 20 && written[1] > 100;
    assertTrue(
        both || Long.getLong("kvsep.seed") != null, written[0] + " left, written " + written[1]);
  }

  private static void run(Random random, int[] written) {
    ManualScheduler scheduler = new ManualScheduler(random.nextLong(), 2);
    StorageEngine engine = Engines.open(new CrashableStorage(), scheduler);
    Map<String, String> model = new TreeMap<>();
    for (int round = 0; round < 200; round++) {
      BatchWrites buffer = new BatchWrites();
      Map<String, String> wanted = new TreeMap<>();
      for (int i = random.nextInt(6); i >= 0; i--) {
        String key = "k" + random.nextInt(40);
        String value = round + "v".repeat(random.nextInt(60));
        wanted.put(key, value);
        buffer.put(0, key.getBytes(UTF_8), value.getBytes(UTF_8), 0);
      }
      boolean applied = engine.writes().tryWrite(buffer);
      written[applied ? 1 : 0]++;
      if (applied) {
        model.putAll(wanted);
      }
      for (String key : wanted.keySet()) {
        assertEquals(model.get(key), get(engine, key), key);
      }
      if (!applied && random.nextInt(3) > 0) {
        engine.writes().write(buffer, null);
        model.putAll(wanted);
      }
      if (random.nextInt(80) == 0) {
        scheduler.runAll();
      }
    }
    model.forEach((key, value) -> assertEquals(value, get(engine, key), key));
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void whatWouldWaitForItsOwnSyncIsLeft() {
    EngineConfig config =
        Engines.config(
            new CrashableStorage(),
            CommitSync.EVERY_COMMIT,
            new ManualClock(1_000),
            new Random(1),
            new ManualScheduler(1, 1));
    try (StorageEngine engine = StorageEngine.open(config)) {
      assertFalse(engine.writes().tryWrite(one()));
      assertNull(get(engine, "k"));
      assertTrue(engine.writes().tryWrite(new BatchWrites()), "nothing is written at once");
    }
  }

  @Test
  void whatWouldWaitForTheSyncOfAnotherIsLeft() throws InterruptedException {
    HeldSyncs storage = new HeldSyncs(new CrashableStorage());
    StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1));
    engine.writes().put(0, "first".getBytes(UTF_8), new byte[1], 0);
    assertTrue(engine.writes().tryWrite(one()));
    CountDownLatch held = new CountDownLatch(1);
    CountDownLatch free = new CountDownLatch(1);
    storage.hold(held, free);
    BatchWrites synced = new BatchWrites();
    synced.put(0, "synced".getBytes(UTF_8), "1".getBytes(UTF_8), 0);
    Thread other = new Thread(() -> engine.writes().write(synced, CommitSync.EVERY_COMMIT));
    other.start();
    held.await();
    BatchWrites second = new BatchWrites();
    second.put(0, "second".getBytes(UTF_8), "2".getBytes(UTF_8), 0);

    assertFalse(engine.writes().tryWrite(second));

    assertNull(get(engine, "second"));
    free.countDown();
    other.join();
    assertEquals("1", get(engine, "synced"));
    assertTrue(engine.writes().tryWrite(second));
    assertEquals("2", get(engine, "second"));
    engine.close();
  }

  @Test
  void storesThatTakeNoWritesRefuse() {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1));
    engine.writes().put(0, "k".getBytes(UTF_8), "old".getBytes(UTF_8), 0);
    engine.close();
    assertThrows(StoreClosedException.class, () -> engine.writes().tryWrite(one()));
    EngineConfig config = Engines.config(storage.crashKeepingAll(), new ManualScheduler(1, 1));
    try (StorageEngine reader = StorageEngine.open(ConfigDraft.of(config).readOnly(true).build())) {
      assertThrows(ReadOnlyStoreException.class, () -> reader.writes().tryWrite(one()));
      assertArrayEquals(
          "old".getBytes(UTF_8), reader.reads().get(0, "k".getBytes(UTF_8), StoreReads.LATEST));
    }
  }

  private static BatchWrites one() {
    BatchWrites buffer = new BatchWrites();
    buffer.put(0, "k".getBytes(UTF_8), "v".getBytes(UTF_8), 0);
    return buffer;
  }

  private static @Nullable String get(StorageEngine engine, String key) {
    byte[] value = engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
    return value == null ? null : new String(value, UTF_8);
  }
}
