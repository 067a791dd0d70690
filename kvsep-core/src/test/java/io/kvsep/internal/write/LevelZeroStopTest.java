package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A writer is slowed down, then waits for compactions, as the tables of level 0 become many. */
final class LevelZeroStopTest {
  private static final int STOP = Engines.TINY.levelZero().stopTables();

  /** Compacts only for a writer that waits. */
  private final StorageEngine engine =
      Engines.open(new CrashableStorage(), new ManualScheduler(1, 1));

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void theWriteBehindTheLastTableWaitsForACompaction() {
    for (int tables = 1; tables < STOP; tables++) {
      put("key " + tables);
      engine.flush();
      assertEquals(tables, levelZero());
    }
    put("one more");
    assertEquals(STOP - 1, levelZero(), "no reason to wait");
    engine.flush();
    assertEquals(STOP, levelZero());
    BatchWrites batch = new BatchWrites();
    batch.put(0, "tried".getBytes(UTF_8), new byte[1], 0);
    assertFalse(engine.writes().tryWrite(batch));
    put("last");
    assertTrue(levelZero() < STOP, () -> levelZero() + " tables");
    assertTrue(engine.stats().compactions() > 0);
  }

  @Test
  void eachTableSlowsWritersDown() {
    EngineConfig.Shape.LevelZero limits =
        EngineConfig.Shape.forBudget(256 << 20, false).levelZero();
    int slow = limits.slowdownTables();
    int stop = limits.stopTables();
    assertEquals(1, Admission.levelZeroSpeed(slow, limits));
    double last = 2;
    double seconds = 0;
    for (int tables = slow; tables < stop; tables++) {
      double speed = Admission.levelZeroSpeed(tables, limits);
      assertTrue(speed < last, "at " + tables);
      last = speed;
      // 32 MiB of log for a table, at 128 MiB/s before the slow-down.
      seconds += 0.25 / speed;
    }
    assertTrue(seconds > 60, "a compaction may take so long: " + seconds);
    // A batch of 128 KiB.
    assertTrue(0.001 / last < 0.5, "s for a batch before the stop: " + 0.001 / last);
  }

  private int levelZero() {
    return Engines.levelTables(engine.stats())[0];
  }

  private void put(String key) {
    engine.writes().put(0, key.getBytes(UTF_8), new byte[1], 0);
  }
}
