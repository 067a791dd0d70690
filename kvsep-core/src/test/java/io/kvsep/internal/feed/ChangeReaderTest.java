package io.kvsep.internal.feed;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Where a reader of changes may come to stand. */
final class ChangeReaderTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  private final CrashableStorage storage = new CrashableStorage();
  private final ManualScheduler scheduler = new ManualScheduler(1, 1);

  private static void put(StorageEngine engine, int number) {
    engine.writes().put(0, ("key-" + number % 10).getBytes(UTF_8), new byte[40], 0);
  }

  private static int drain(ChangeReader reader) {
    int count = 0;
    while (reader.poll() != null) {
      count++;
    }
    return count;
  }

  @Test
  void aSegmentThatWasGivenBackUnusedHoldsNoReaderUp() {
    try (StorageEngine engine = Engines.open(storage, scheduler)) {
      int count = 150;
      for (int i = 0; i < count; i++) {
        put(engine, i);
      }
      scheduler.runAll();
      ChangeReader reader = engine.changes().open(0);
      assertEquals(count, drain(reader));
      try (SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST)) {
        // At every moment of it: also when the log has been let go of and its spare has not.
        storage.watch(moment -> assertNull(reader.poll()));
        engine.flush();
        storage.watch(null);
        put(engine, count);
        engine.sync();
        assertNotNull(reader.poll());
        assertTrue(cursor.next());
      }
    }
  }

  /** As where memory runs out just when a reader is to get the error. */
  @Test
  void aChangeOfWhichNothingCouldBeMadeComesAgain() {
    try (StorageEngine engine = Engines.open(storage, scheduler)) {
      int count = 5;
      for (int i = 0; i < count; i++) {
        put(engine, i);
      }
      ChangeReader reader = engine.changes().open(0);
      for (long sequence = 1; sequence <= count; sequence++) {
        assertThrows(OutOfMemoryError.class, () -> reader.poll(ChangeReaderTest::outOfMemory));
        assertThrows(OutOfMemoryError.class, () -> reader.poll(0, ChangeReaderTest::outOfMemory));
        assertEquals(sequence, reader.poll(LoggedChange::sequence));
      }
      assertNull(reader.poll());
    }
  }

  private static Object outOfMemory(LoggedChange change) {
    throw new OutOfMemoryError("imitated, at " + change.sequence());
  }

  @Test
  void whatIsRetainedLiesInFewFiles() throws IOException {
    int retained = 320 << 10;
    EngineConfig config =
        ConfigDraft.of(Engines.config(storage, scheduler))
            .segmentBytes(1 << 20)
            .reclaim(1.2, 8 << 10)
            .build();
    try (StorageEngine engine =
        StorageEngine.open(
            ConfigDraft.of(config).reclaim(config.reclaim().retaining(retained)).build())) {
      Random random = new Random(1);
      long last = 0;
      for (int i = 0; i < 1_500; i++) {
        byte[] value = new byte[1_000];
        random.nextBytes(value);
        engine.writes().put(0, new byte[] {(byte) (i % 5)}, value, 0);
        last = engine.reads().visibleSequence();
        scheduler.tick();
        scheduler.runAll();
        if (i % 100 == 0) {
          engine.reclaim();
        }
      }
      int kept = retained / 1_100;
      assertEquals(kept, drain(engine.changes().open(last - kept)));
      long files = storage.list().stream().filter(name -> name.endsWith(".vlog")).count();
      assertTrue(files > 5 && files < 30, () -> files + " files");
      assertTrue(engine.stats().logBytes() < 2L * retained, () -> engine.stats().toString());
    }
  }
}
