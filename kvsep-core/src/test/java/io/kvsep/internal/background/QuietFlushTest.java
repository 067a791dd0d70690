package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What is in memory goes to a table unasked when nothing is written for a while. */
final class QuietFlushTest {
  /** More than any store takes to count as quiet. */
  private static final int TICKS = 50;

  /** More than is worth a flush. */
  private static final int VALUE_BYTES = 1200 << 10;

  private static final byte[] EXPIRING = "expiring".getBytes(UTF_8);

  private final ManualScheduler scheduler = new ManualScheduler(1, 2);
  private final LookedAtClock clock = new LookedAtClock();
  private final StorageEngine engine =
      StorageEngine.open(
          Engines.config(
              new CrashableStorage(), CommitSync.ON_DEMAND, clock, new Random(1), scheduler));

  @Test
  void aFlushThatMetAWriteComesWithTheNextTick() {
    engine.writes().put(0, EXPIRING, new byte[10], 1_000_000);
    engine.writes().put(0, "long".getBytes(UTF_8), incompressible(VALUE_BYTES), 0);
    scheduler.runAll();
    scheduler.tick();
    long flushes = engine.stats().flushes();
    // Asked by who leads a group, about the key that the write depends on.
    clock.whenLookedAt = this::tickLong;
    assertFalse(engine.writes().compareAndSet(0, EXPIRING, new byte[9], new byte[11]));
    scheduler.runAll();
    assertEquals(flushes, engine.stats().flushes());

    scheduler.tick();
    scheduler.runAll();
    assertEquals(flushes + 1, engine.stats().flushes());
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void whatLiesInSegmentsBeforeTheLastCounts() {
    try (StorageEngine longer = roomy()) {
      longer.writes().put(0, "long".getBytes(UTF_8), incompressible(VALUE_BYTES), 0);
      longer.writes().put(0, "short".getBytes(UTF_8), new byte[10], 0);
      scheduler.runAll();
      scheduler.tick();
      assertEquals(0, longer.stats().flushes());
      tickLong();
      scheduler.runAll();
      assertEquals(1, longer.stats().flushes());
    }
    engine.close();
  }

  @Test
  void aStoreInWhichHardlyAnythingIsWrittenFlushesWhatItHolds() {
    try (StorageEngine store = roomy()) {
      store.writes().put(0, "long".getBytes(UTF_8), incompressible(VALUE_BYTES), 0);
      writeWithEachTick(store, 10);
      assertEquals(1, store.stats().flushes());
    }
    engine.close();
  }

  @Test
  void oneInWhichMoreIsWrittenDoesNot() {
    try (StorageEngine store = roomy()) {
      writeWithEachTick(store, VALUE_BYTES / 20);
      assertEquals(0, store.stats().flushes());
    }
    engine.close();
  }

  @Test
  void norDoesOneThatHoldsAsMuchAsTwoSecondsBeforeForItHasFlushedMeanwhile() {
    try (StorageEngine store = roomy()) {
      for (int i = 0; i < TICKS; i++) {
        store.writes().put(0, ("key" + i).getBytes(UTF_8), incompressible(VALUE_BYTES), 0);
        scheduler.tick();
        store.flush();
      }
      assertEquals(TICKS, store.stats().flushes());
    }
    engine.close();
  }

  private void writeWithEachTick(StorageEngine store, int bytes) {
    for (int i = 0; i < TICKS; i++) {
      store.writes().put(0, ("key" + i).getBytes(UTF_8), incompressible(bytes), 0);
      scheduler.tick();
    }
    scheduler.runAll();
  }

  private StorageEngine roomy() {
    EngineConfig config = Engines.config(new CrashableStorage(), scheduler);
    return StorageEngine.open(
        ConfigDraft.of(config).shape(Shape.forBudget(16 << 20, /* packsBlocks= */ false)).build());
  }

  private void tickLong() {
    // What ticks looks at the clock itself.
    clock.whenLookedAt = () -> {};
    for (int i = 0; i < TICKS; i++) {
      scheduler.tick();
    }
  }

  private static byte[] incompressible(int bytes) {
    byte[] value = new byte[bytes];
    new Random(1).nextBytes(value);
    return value;
  }

  private static final class LookedAtClock extends ManualClock {
    private Runnable whenLookedAt = () -> {};

    LookedAtClock() {
      super(1_000);
    }

    @Override
    public long millis() {
      whenLookedAt.run();
      return super.millis();
    }
  }
}
