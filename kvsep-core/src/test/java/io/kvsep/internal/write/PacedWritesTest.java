package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import org.junit.jupiter.api.Test;

/** While all other memtables await their flush, the last one fills at the speed of flushes. */
final class PacedWritesTest {
  private static final int WRITES_MAX = 100_000;

  private final ManualScheduler scheduler = new ManualScheduler(1, 2);
  private final StorageEngine engine =
      StorageEngine.open(
          ConfigDraft.of(Engines.config(new CrashableStorage(), scheduler))
              .segmentBytes(32 << 20)
              .shape(Engines.withMemtables(512 << 10))
              .build());

  private int written;

  private BatchWrites next() {
    BatchWrites batch = new BatchWrites();
    batch.put(0, ("key" + written++).getBytes(UTF_8), new byte[40], 0);
    return batch;
  }

  /** No flush runs, so only the pace slows a writer down. */
  private void writeUntilSlowedDown() {
    while (engine.stats().stalls() == 0 && written < WRITES_MAX) {
      engine.writes().write(next(), null);
    }
    assertEquals(1, engine.stats().stalls());
    assertEquals(0, engine.stats().flushes());
  }

  @Test
  void aWriterIsSlowedDownBeforeTheLastMemtableIsFull() {
    try (engine) {
      writeUntilSlowedDown();
      scheduler.runAll();
      long stalls = engine.stats().stalls();
      for (int i = 0; i < 1_000; i++) {
        engine.writes().write(next(), null);
      }
      assertEquals(stalls, engine.stats().stalls(), "after the flushes there is room");
    }
  }

  @Test
  void aWriteThatMayNotWaitGoesAhead() {
    try (engine) {
      writeUntilSlowedDown();
      for (int i = 0; i < 20; i++) {
        assertTrue(engine.writes().tryWrite(next()));
      }
      assertEquals(1, engine.stats().stalls());
    }
  }

  /** A flush may take twice as long as the last one before the writer has to stop. */
  @Test
  void theLastQuarterFillsEverSlower() {
    double flushes = 0;
    for (int free = 1_000; free > 0; free--) {
      double factor = Admission.scarcity(free, 1_000);
      assertEquals(free >= 250, factor == 1, "free: " + free);
      assertTrue(factor <= Admission.scarcity(free - 1, 1_000));
      flushes += 1.25 * factor / 1_000;
    }
    assertTrue(flushes > 2, "time to fill it by that of a flush: " + flushes);
    assertEquals(25, Admission.scarcity(0, 1_000), 1e-9);
  }
}
