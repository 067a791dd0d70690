package io.kvsep.internal.reclaim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.background.WriteRateWindow;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Garbage of the last two seconds is let be, as far as it may, and no longer than that. */
final class PendingGarbageTest {
  private static final int KEYS = 100;
  private static final int VALUE_BYTES = 200;
  private static final long PENDING_BYTES_MAX = 1 << 20;

  private final ManualScheduler scheduler = new ManualScheduler(1, 2);
  private final Random random = new Random(1);
  private final StorageEngine engine = open(scheduler, PENDING_BYTES_MAX);

  private static StorageEngine open(ManualScheduler scheduler, long pendingBytesMax) {
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 16 << 10);
    Reclaim limits = new Reclaim(goal, pendingBytesMax, Long.MAX_VALUE, () -> Long.MAX_VALUE);
    EngineConfig base = Engines.config(new CrashableStorage(), scheduler);
    return StorageEngine.open(ConfigDraft.of(base).reclaim(limits).build());
  }

  @AfterEach
  void close() {
    engine.close();
  }

  /** For so many tenths of a second. */
  private void overwrite(StorageEngine store, ManualScheduler scheduler, int ticks, int puts) {
    byte[] value = new byte[VALUE_BYTES];
    for (int tick = 0; tick < ticks; tick++) {
      for (int i = 0; i < puts; i++) {
        random.nextBytes(value);
        store.writes().put(0, ("key-" + random.nextInt(KEYS)).getBytes(UTF_8), value, 0);
      }
      scheduler.tick();
      scheduler.runAll();
    }
  }

  private double amplification() {
    return (double) engine.stats().logBytes() / engine.stats().logLiveBytes();
  }

  @Test
  void aSmallStoreIsNotCopiedOverAndOverWhileItIsOverwritten() {
    overwrite(engine, scheduler, 40, KEYS);
    assertEquals(0, engine.stats().reclaim().bytesWritten());
    ManualScheduler other = new ManualScheduler(1, 2);
    try (StorageEngine eager = open(other, 0)) {
      overwrite(eager, other, 40, KEYS);
      assertTrue(eager.stats().reclaim().bytesWritten() > 0);
    }
  }

  @Test
  void itComesBackWhenWritersRest() {
    overwrite(engine, scheduler, 40, KEYS);
    assertTrue(amplification() > 3, () -> "" + amplification());
    overwrite(engine, scheduler, 50, 0);
    assertTrue(amplification() < 2, () -> "" + amplification());
  }

  @Test
  void itComesBackBesideFewWrites() {
    overwrite(engine, scheduler, 40, KEYS);
    assertTrue(amplification() > 3, () -> "" + amplification());
    overwrite(engine, scheduler, 200, 1);
    assertTrue(amplification() < 2.5, () -> "" + amplification());
  }

  @Test
  void aCountIsLookedBackUponForTwoSeconds() {
    AtomicLong count = new AtomicLong(1000);
    WriteRateWindow recent = new WriteRateWindow(count::get);
    assertEquals(0, recent.bytes());
    count.addAndGet(7);
    assertEquals(7, recent.bytes());
    for (int tick = 0; tick < 20; tick++) {
      recent.tick();
      assertEquals(7, recent.bytes());
    }
    count.addAndGet(5);
    assertEquals(12, recent.bytes());
    recent.tick();
    assertEquals(5, recent.bytes());
    for (int tick = 0; tick < 20; tick++) {
      recent.tick();
    }
    assertEquals(0, recent.bytes());
  }
}
