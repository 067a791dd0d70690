package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.OpenMode;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ForwardingScheduler;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** How often a durability has the log synced. */
final class SyncIntervalTest {
  private static final long MILLISECOND = 1_000_000;
  private static final OpenMode MODE = new OpenMode(false, true, false);

  /** Else a timer would be due all the time. */
  @Test
  void lessThanAMillisecondCountsAsOneInAStore() {
    assertEquals(MILLISECOND, ofStore(Duration.ofNanos(1)));
    assertEquals(MILLISECOND, ofStore(Duration.ofNanos(MILLISECOND - 1)));
    assertEquals(MILLISECOND, ofStore(Duration.ofMillis(1)));
    assertEquals(MILLISECOND + 1, ofStore(Duration.ofNanos(MILLISECOND + 1)));
    assertEquals(Long.MAX_VALUE / 2, ofStore(Duration.ofSeconds(Long.MAX_VALUE)));
  }

  private static long ofStore(Duration interval) {
    KvOptions options = KvOptions.builder().durability(Durability.async(interval)).build();
    EngineConfig config =
        OpenStore.config(
            new CrashableStorage(),
            options,
            MODE,
            Clock.systemUTC(),
            KvResources.ofOneStore(options.memoryBudgetBytes(), options.backgroundThreads()));
    config.scheduler().close();
    return config.sync().intervalNanos();
  }

  @Test
  void lessThanAMillisecondCountsAsOneForABatch() {
    List<Long> delays = new ArrayList<>();
    ForwardingScheduler scheduler =
        new ForwardingScheduler(new ManualScheduler(1, 1)) {
          @Override
          public void after(long delayNanos, Runnable task) {
            delays.add(delayNanos);
            super.after(delayNanos, task);
          }
        };
    EngineConfig config =
        Engines.config(
            new CrashableStorage(),
            CommitSync.ON_DEMAND,
            new ManualClock(1_000),
            new Random(1),
            scheduler);
    try (KvStore store = new OpenStore(StorageEngine.open(config))) {
      WriteBatch batch = new WriteBatch().put(new byte[1], new byte[1]);
      store.write(batch, Durability.async(Duration.ofNanos(1)));
    }
    assertEquals(List.of(MILLISECOND), delays);
  }
}
