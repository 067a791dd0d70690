package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A log without calls of sync is synced behind its writer all the same, piece by piece, as long as
 * a memtable waits to become a table.
 */
final class SyncBehindTest {
  /** Four of them are what a sync is worth here, and 32 are what a memtable covers. */
  private static final int VALUE_BYTES = 1000;

  private static final int PER_MEMTABLE = 32;

  private final CrashableStorage storage = new CrashableStorage();
  private final ManualScheduler scheduler = new ManualScheduler(1, 1);
  private final StorageEngine engine = Engines.open(storage, scheduler);
  private int written;

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  /** Flushes fail before they come to sync the log. */
  private void failTables() {
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) ->
            operation == Operation.CREATE && StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE);
  }

  @Test
  void nothingIsSyncedBeforeAMemtableIsFull() {
    put(PER_MEMTABLE / 2);
    long syncs = engine.stats().syncs();
    scheduler.runAll();
    assertEquals(syncs, engine.stats().syncs());
  }

  @Test
  void whileOneWaitsMuchIsSyncedAndLittleIsNot() {
    failTables();
    put(PER_MEMTABLE + 1);
    int before = leftByPowerFailure();
    assertTrue(before < written, before + " were synced by themselves");
    scheduler.runAll();
    assertEquals(written, leftByPowerFailure());
    int synced = written;
    put(3);
    scheduler.runAll();
    assertEquals(synced, leftByPowerFailure());
    put(2);
    scheduler.runAll();
    assertEquals(written, leftByPowerFailure());
    storage.clearFaults();
  }

  @Test
  void nothingIsSyncedAgainThatIsSynced() {
    failTables();
    put(PER_MEMTABLE + 1);
    engine.sync();
    long syncs = engine.stats().syncs();
    scheduler.runAll();
    assertEquals(syncs, engine.stats().syncs());
    storage.clearFaults();
  }

  @Test
  void whenThatFailsTheStoreHasFailedAndReadsGoOn() {
    put(PER_MEMTABLE + 1);
    storage.failAt(
        1,
        Fault.SYNC_FAILS,
        /* sticky= */ false,
        (operation, name) ->
            operation == Operation.SYNC && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT);
    scheduler.runAll();
    assertThrows(StoreFailedException.class, () -> put(1));
    for (int i = 0; i < PER_MEMTABLE; i++) {
      assertArrayEquals(value(i), get(engine, i));
    }
    storage.clearFaults();
    assertThrows(StoreFailedException.class, engine::sync);
    assertThrows(StoreFailedException.class, engine::close);
  }

  private void put(int count) {
    for (int i = 0; i < count; i++) {
      engine.writes().put(0, key(written), value(written), 0);
      written++;
    }
  }

  /** How many entries another engine finds if the power fails now: the first ones. */
  private int leftByPowerFailure() {
    int left = 0;
    ManualScheduler own = new ManualScheduler(2, 1);
    try (StorageEngine other = Engines.open(storage.moment().crashSyncedOnly(), own)) {
      byte[] found = get(other, 0);
      while (found != null) {
        assertArrayEquals(value(left), found);
        left++;
        found = get(other, left);
      }
      for (int i = left; i < written; i++) {
        assertNull(get(other, i));
      }
    }
    return left;
  }

  private static byte @Nullable [] get(StorageEngine from, int number) {
    return from.reads().get(0, key(number), StoreReads.LATEST);
  }

  private static byte[] key(int number) {
    return String.format("key %08d", number).getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] value(int number) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(number).nextBytes(value);
    return value;
  }
}
