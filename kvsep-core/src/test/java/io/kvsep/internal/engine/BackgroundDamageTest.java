package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.engine.EngineConfig.CommitSync;
import io.kvsep.internal.engine.EngineConfig.Reclaim;
import io.kvsep.internal.reclaim.ReclaimGoal;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Writing goes on beside files in which a compaction comes upon damage. */
final class BackgroundDamageTest {
  private static final int KEYS = 300;

  private CrashableStorage storage = new CrashableStorage();
  private final Random random = new Random(5);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);
  private StorageEngine engine = open();

  private StorageEngine open() {
    scheduler = new ManualScheduler(1, 2);
    EngineConfig base =
        Engines.config(
            storage, CommitSync.ON_DEMAND, new ManualClock(1_000), new Random(1), scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 16 << 10);
    return StorageEngine.open(base.with(new Reclaim(goal, Long.MAX_VALUE)));
  }

  private void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
    storage = storage.crashKeepingAll();
  }

  private void reopen() {
    close();
    engine = open();
  }

  private void write(int writes, int valueBytes) {
    for (int i = 0; i < writes; i++) {
      String key = String.format("key-%04d", random.nextInt(KEYS));
      byte[] value = new byte[valueBytes];
      random.nextBytes(value);
      engine.writes().put(0, key.getBytes(UTF_8), value, 0);
      model.put(key, value);
      if (i % 20 == 0) {
        pass();
      }
    }
  }

  private void pass() {
    scheduler.tick();
    scheduler.runAll();
  }

  /** Flips a bit; the store is closed. */
  private void flip(String file, int at) throws Exception {
    byte[] bytes = storage.contents(file);
    bytes[at] ^= 0x10;
    storage.replace(file, bytes);
  }

  /** Every key has its value, or is refused with the name of a damaged file; how many are. */
  private int checkAllBut(Set<String> damaged) {
    int refused = 0;
    for (Map.Entry<String, byte[]> entry : model.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      try {
        byte[] found = engine.reads().get(0, key, StoreReads.LATEST);
        assertArrayEquals(entry.getValue(), found, entry.getKey());
      } catch (CorruptionException e) {
        assertTrue(damaged.contains(e.file()), e.file());
        refused++;
      } catch (IncompatibleFormatException e) {
        assertTrue(damaged.contains(e.file()), e.file());
        refused++;
      }
    }
    return refused;
  }

  @Test
  void compactionsPassBesideARelocatedFileWithADamagedHeader() throws Exception {
    write(900, 200);
    engine.reclaim();
    write(100, 200);
    engine.flush();
    Set<String> relocated = new HashSet<>();
    for (EngineStats.SegmentFile file : engine.segments()) {
      if (file.relocated()) {
        relocated.add(file.name());
      }
    }
    assertTrue(!relocated.isEmpty());
    close();
    for (String file : relocated) {
      flip(file, 3);
    }
    engine = open();
    assertTrue(checkAllBut(relocated) > 0);

    write(4_000, 200);

    checkAllBut(relocated);
    engine.flush();
    reopen();
    checkAllBut(relocated);
    close();
  }
}
