package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.testing.CountingStorage;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A cursor for keys leaves the value log alone. */
final class KeysOnlyTest {
  private static final int ENTRIES = 500;

  @Test
  void aKeysOnlyScanNeverTouchesTheLog() {
    CrashableStorage files = new CrashableStorage();
    try (StorageEngine engine = open(new CountingStorage(files))) {
      for (int i = 0; i < ENTRIES; i++) {
        engine.writes().put(0, key(i), new byte[1000 + i], i % 3 == 0 ? 1_000_000 : 0);
      }
      engine.compact();
    }
    CountingStorage storage = new CountingStorage(files.crashKeepingAll());
    try (StorageEngine engine = open(storage)) {
      int before = storage.accesses(Kind.SEGMENT);
      for (boolean reverse : new boolean[] {false, true}) {
        try (SnapshotCursor cursor = cursor(engine, reverse, /* keysOnly= */ true)) {
          int count = 0;
          while (cursor.next()) {
            int number = reverse ? ENTRIES - 1 - count : count;
            assertEquals(1000 + number, cursor.valueLength());
            assertEquals(key(number)[1], cursor.key()[1]);
            assertEquals(number % 3 == 0, cursor.expiresAtMillis() != SnapshotCursor.NEVER);
            count++;
          }
          assertEquals(ENTRIES, count);
          assertTrue(cursor.seek(key(77)));
          assertTrue(cursor.seekFloor(key(7)));
          assertTrue(cursor.previous());
        }
      }
      assertTrue(engine.reads().contains(0, key(3), StoreReads.LATEST));
      assertEquals(before, storage.accesses(Kind.SEGMENT));

      try (SnapshotCursor cursor = cursor(engine, false, /* keysOnly= */ false)) {
        assertTrue(cursor.next());
        assertEquals(1000, cursor.value().length);
      }
      assertTrue(storage.accesses(Kind.SEGMENT) > before, "a read of a value is counted");
    }
  }

  private static SnapshotCursor cursor(StorageEngine engine, boolean reverse, boolean keysOnly) {
    ScanBounds bounds = new ScanBounds(0, null, null, reverse, keysOnly, Long.MAX_VALUE);
    return engine.reads().cursor(bounds, StoreReads.LATEST);
  }

  private static StorageEngine open(CountingStorage storage) {
    return StorageEngine.open(
        Engines.config(
            storage,
            CommitSync.ON_DEMAND,
            new ManualClock(1),
            new Random(5),
            new ManualScheduler(3, 2)));
  }

  private static byte[] key(int number) {
    return new byte[] {(byte) (number >>> 8), (byte) number};
  }
}
