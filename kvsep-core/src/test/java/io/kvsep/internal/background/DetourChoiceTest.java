package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A quiet store rewrites a table for where its values are only if that changes its pointers. */
final class DetourChoiceTest {
  private static final int KEYS = 600;
  private static final int VALUE_BYTES = 1_000;

  /** Far more than a store takes to count as quiet. */
  private static final int TICKS = 100;

  private final ManualScheduler scheduler = new ManualScheduler(1, 2);
  private final CrashableStorage storage = new CrashableStorage();

  @Test
  void tablesStayWhoseValuesLieInAFileWithSomeGarbage() {
    assertEquals(0, rewrittenWithGarbage(KEYS / 16));
  }

  @Test
  void tablesArePointedStraightIntoAFileWithHardlyAny() {
    assertTrue(rewrittenWithGarbage(KEYS / 100) > 0);
  }

  /**
   * How many tables a quiet store has rewritten.
   *
   * @param deleted keys without which the file with all values has garbage
   */
  private long rewrittenWithGarbage(int deleted) {
    EngineConfig base = Engines.config(storage, scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 8 << 20);
    EngineConfig config = ConfigDraft.of(base).reclaim(Engines.reclaim(goal)).build();
    try (StorageEngine engine = StorageEngine.open(config)) {
      for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEYS; i += 1 + round) {
          engine.writes().put(0, key(i), value(i), 0);
        }
      }
      fillTables(engine);
      engine.reclaim();
      for (int i = 0; i < deleted; i++) {
        engine.writes().delete(0, key(i));
      }
      engine.compact();
      long tables = engine.stats().compactions();
      for (int i = 0; i < TICKS; i++) {
        scheduler.tick();
        scheduler.runAll();
      }
      for (int i = 0; i < KEYS; i++) {
        byte[] found = engine.reads().get(0, key(i), StoreReads.LATEST);
        assertArrayEquals(i < deleted ? null : value(i), found);
      }
      return engine.stats().compactions() - tables;
    }
  }

  /** With short values, which lie beside their keys, so that there are many tables. */
  private static void fillTables(StorageEngine engine) {
    byte[] value = new byte[48];
    Random random = new Random(7);
    for (int i = 0; i < 10 * KEYS; i++) {
      random.nextBytes(value);
      engine.writes().put(0, String.format("key-%05d", i).getBytes(UTF_8), value, 0);
    }
  }

  private static byte[] key(int index) {
    return String.format("key-%04d", index).getBytes(UTF_8);
  }

  private static byte[] value(int index) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(index).nextBytes(value);
    return value;
  }
}
