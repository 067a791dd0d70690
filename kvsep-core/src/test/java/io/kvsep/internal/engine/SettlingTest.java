package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store that nobody writes to any more comes to have its tables in one level. */
final class SettlingTest {
  /** More than any store takes to count as quiet. */
  private static final int TICKS = 50;

  private static final int ENTRIES = 3_000;

  private final ManualScheduler scheduler = new ManualScheduler(1, 2);
  private final StorageEngine engine = Engines.open(new CrashableStorage(), scheduler);

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void aQuietStoreEndsInOneLevel() {
    fill();
    assertTrue(levelsInUse() > 1);
    long compactions = engine.stats().compactions();
    for (int i = 0; i < TICKS; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
    assertEquals(1, levelsInUse());
    assertTrue(engine.stats().compactions() > compactions);
    for (int i = 0; i < ENTRIES; i++) {
      assertArrayEquals(value(i), engine.reads().get(0, key(i), StoreReads.LATEST));
    }
    long settled = engine.stats().compactions();
    for (int i = 0; i < TICKS; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
    assertEquals(settled, engine.stats().compactions());
  }

  @Test
  void aStoreThatIsWrittenToNowAndThenDoesNotSettle() {
    fill();
    long before = levelsInUse();
    long compactions = engine.stats().compactions();
    for (int i = 0; i < TICKS; i++) {
      engine.writes().put(0, key(0), value(0), 0);
      scheduler.tick();
      scheduler.runAll();
    }
    assertEquals(before, levelsInUse());
    assertEquals(compactions, engine.stats().compactions());
  }

  private void fill() {
    Random random = new Random(3);
    for (int i = 0; i < ENTRIES; i++) {
      engine.writes().put(0, key(i), value(i), 0);
      if (random.nextInt(10) == 0) {
        int other = random.nextInt(i + 1);
        engine.writes().put(0, key(other), value(other), 0);
      }
      scheduler.runAll();
    }
    engine.flush();
    scheduler.runAll();
  }

  private long levelsInUse() {
    return Arrays.stream(engine.stats().levelTables()).filter(tables -> tables > 0).count();
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putInt(i * 0x9e3779b1).putInt(i).array();
  }

  private static byte[] value(int i) {
    return ByteBuffer.allocate(40).putInt(36, i).array();
  }
}
