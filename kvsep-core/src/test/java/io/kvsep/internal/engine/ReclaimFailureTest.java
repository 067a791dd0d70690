package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.engine.EngineConfig.CommitSync;
import io.kvsep.internal.engine.EngineConfig.Reclaim;
import io.kvsep.internal.reclaim.ReclaimGoal;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** A reclaim that fails leaves nothing behind, and does not keep others from their work. */
final class ReclaimFailureTest {
  private static final int KEYS = 300;

  private CrashableStorage storage = new CrashableStorage();
  private final Random random = new Random(5);
  private final TreeMap<String, byte[]> model = new TreeMap<>();

  /** Refuses what the test says. */
  private static final class Refusing extends ForwardingStorage {
    private int directorySyncs = Integer.MAX_VALUE;

    Refusing(CrashableStorage storage) {
      super(storage);
    }

    @Override
    public void syncDirectory() throws IOException {
      if (--directorySyncs == 0) {
        throw new IOException("refused");
      }
      super.syncDirectory();
    }
  }

  private StorageEngine open(Refusing refusing) {
    ManualScheduler scheduler = new ManualScheduler(1, 2);
    EngineConfig base =
        Engines.config(
            refusing, CommitSync.ON_DEMAND, new ManualClock(1_000), new Random(1), scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 16 << 10);
    return StorageEngine.open(base.with(new Reclaim(goal, Long.MAX_VALUE)));
  }

  private void close(StorageEngine engine) {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    storage = storage.crashKeepingAll();
  }

  private void put(StorageEngine engine, int index) {
    String key = String.format("key-%04d", index);
    byte[] value = new byte[200];
    random.nextBytes(value);
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
    model.put(key, value);
  }

  /** Each file of the log has some of every kind of key. */
  private void fill(StorageEngine engine) {
    for (int i = 0; i < 2 * KEYS; i++) {
      put(engine, i % KEYS);
    }
    engine.flush();
  }

  private void checkAll(StorageEngine engine) {
    for (Map.Entry<String, byte[]> entry : model.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      byte[] found = engine.reads().get(0, key, StoreReads.LATEST);
      assertArrayEquals(entry.getValue(), found, entry.getKey());
    }
  }

  @Test
  void aFailedSyncOfTheDirectoryLeavesNoFile() {
    int failed = 0;
    for (int sync = 1; sync < 12; sync++) {
      storage = new CrashableStorage();
      model.clear();
      Refusing refusing = new Refusing(storage);
      StorageEngine engine = open(refusing);
      fill(engine);
      engine.compact();
      for (int i = 0; i < KEYS; i += 2) {
        put(engine, i);
      }
      refusing.directorySyncs = sync;
      try {
        engine.reclaim();
      } catch (KvException e) {
        failed++;
      }
      refusing.directorySyncs = Integer.MAX_VALUE;

      assertEquals(List.of(), engine.verify().unknownFiles(), "sync " + sync);
      checkAll(engine);
      close(engine);
    }
    assertTrue(failed > 5, failed + " calls failed");
  }
}
