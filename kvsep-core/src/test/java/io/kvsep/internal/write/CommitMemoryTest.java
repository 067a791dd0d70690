package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.HeldSyncs;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Parked;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** The memory of writes is bounded however many there are at once, and given back. */
final class CommitMemoryTest {
  private static final long BUDGET = 16 << 20;
  private static final int WRITERS = 500;

  /** So long that the frame is one of those that a slot may keep. */
  private static final int VALUE_BYTES = 8_000;

  /** In which the log gathers what it writes at once. */
  private static final int STAGING_BYTES = 256 << 10;

  @Test
  void manyWritersAtOnceHoldNoMoreThanTheirShare() throws InterruptedException {
    HeldSyncs storage = new HeldSyncs(new CrashableStorage());
    StorageEngine engine = StorageEngine.open(config(storage));
    Shape shape = config(storage).shape();
    assertTrue(2 * VALUE_BYTES <= shape.commits().slotBytesMax());
    long before = commitBytes(engine);
    byte[] value = new byte[VALUE_BYTES];
    new Random(1).nextBytes(value);
    CountDownLatch held = new CountDownLatch(1);
    CountDownLatch free = new CountDownLatch(1);
    storage.hold(held, free);
    List<Thread> writers = new ArrayList<>();
    for (int i = 0; i < WRITERS; i++) {
      byte[] key = key(i);
      writers.add(new Thread(() -> engine.writes().put(0, key, value, 0)));
    }
    writers.get(0).start();
    held.await();
    writers.subList(1, WRITERS).forEach(Thread::start);
    Parked.await(writers);

    long holding = commitBytes(engine) - before;
    assertTrue(holding <= shape.commits().bytesMax(), holding + " bytes held by writers");
    free.countDown();
    for (Thread writer : writers) {
      writer.join();
    }
    long kept = commitBytes(engine) - before;
    assertTrue(kept <= shape.keptBytesMax() + STAGING_BYTES, kept + " bytes kept");
    long peak = engine.stats().memoryPeakBytes();
    assertTrue(peak <= BUDGET, peak + " bytes at the most");
    for (int i = 0; i < WRITERS; i++) {
      assertArrayEquals(value, engine.reads().get(0, key(i), StoreReads.LATEST));
    }
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private static EngineConfig config(HeldSyncs storage) {
    EngineConfig base =
        Engines.config(
            storage,
            CommitSync.EVERY_COMMIT,
            new ManualClock(1_000),
            new Random(1),
            new ManualScheduler(1, 1));
    return ConfigDraft.of(base)
        .shape(Shape.forBudget(BUDGET, /* packsBlocks= */ false))
        .segmentBytes(64 << 20)
        .build();
  }

  private static byte[] key(int number) {
    return ("key-" + number).getBytes(UTF_8);
  }

  private static long commitBytes(StorageEngine engine) {
    return engine.stats().memoryBytes().getOrDefault("commit", 0L);
  }
}
