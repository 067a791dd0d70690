package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A writer waits for compactions where level 0 has as many tables as there may be. */
final class LevelZeroStopTest {
  private static final int STOP = Engines.TINY.levelZero().stopTables();

  /** Compacts only for whoever waits. */
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

  private int levelZero() {
    return Engines.levelTables(engine.stats())[0];
  }

  private void put(String key) {
    engine.writes().put(0, key.getBytes(UTF_8), new byte[1], 0);
  }
}
