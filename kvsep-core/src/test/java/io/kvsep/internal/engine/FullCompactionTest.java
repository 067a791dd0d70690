package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.EngineConfig.CommitSync;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store that is compacted as a whole while somebody writes to it. */
final class FullCompactionTest {
  private static final int ENTRIES = 10_000;

  /** Far apart, so that the tables they are written to overlap each other and all below. */
  private static final int STEP = 1_000;

  private final CrashableStorage storage = new CrashableStorage();
  private final ManualScheduler scheduler = new ManualScheduler(3, 1);
  private final WritingClock clock = new WritingClock();
  private final StorageEngine engine =
      StorageEngine.open(
          Engines.config(storage, CommitSync.ON_DEMAND, clock, new Random(7), scheduler));

  /** Tables of level 0 when all was written. */
  private int levelZeroTables = -1;

  @AfterEach
  void everythingIsGivenBack() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  @Test
  void levelZeroIsCompactedBesideAJobThatTakesLong() {
    Random random = new Random(5);
    byte[] value = new byte[48];
    for (int i = 0; i < ENTRIES; i++) {
      random.nextBytes(value);
      engine.writes().put(0, key(i), value, 0);
      scheduler.runAll();
    }
    engine.compact();
    assertEquals(0, engine.stats().levelTables()[0]);
    assertTrue(engine.stats().tableBytes() > 8 * Engines.TINY.levelBaseBytes());
    put(0);
    engine.flush();
    clock.writes = true;
    engine.compact();
    assertTrue(levelZeroTables >= 0, "nothing was written meanwhile");
    assertTrue(
        levelZeroTables < Engines.TINY.levelZeroSlowdown(), "level 0 has " + levelZeroTables);
    for (int i = 0; i < ENTRIES; i += STEP) {
      assertArrayEquals(value(7, i), engine.reads().get(0, key(i), StoreReads.LATEST));
    }
    engine.compact();
    long[] bytes = engine.stats().levelBytes();
    for (int level = 0; level < bytes.length - 1; level++) {
      assertEquals(0, bytes[level]);
    }
  }

  /** More tables than writers may go on with. */
  private void writeMeanwhile() {
    for (int round = 1; round < 8; round++) {
      put(round);
      engine.flush();
      scheduler.runAll();
    }
    levelZeroTables = engine.stats().levelTables()[0];
  }

  private void put(int round) {
    for (int i = 0; i < ENTRIES; i += STEP) {
      engine.writes().put(0, key(i), value(round, i), 0);
    }
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static byte[] value(int round, int i) {
    return ByteBuffer.allocate(40).putInt(round).putInt(36, i).array();
  }

  /** Stands still; asked for the time by a job behind level 0, it writes. */
  private final class WritingClock extends ManualClock {
    boolean writes;

    WritingClock() {
      super(1_000);
    }

    @Override
    public long millis() {
      if (writes && engine.stats().levelTables()[0] == 0) {
        writes = false;
        writeMeanwhile();
      }
      return super.millis();
    }
  }
}
