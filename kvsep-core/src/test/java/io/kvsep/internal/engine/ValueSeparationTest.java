package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.SegmentStats;
import io.kvsep.error.KvException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.repair.Repair;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Once a store has outgrown memory, compactions take values out of the tables. */
final class ValueSeparationTest {
  private static final int KEYS = 200;

  /** Inline, until the store outgrows memory. */
  private static final int VALUE_BYTES = 60;

  private static final long TTL_MILLIS = 1_000_000;

  private final LargeStoreFixture store =
      new LargeStoreFixture(/* memoryBytes= */ Long.MAX_VALUE, draft -> draft);

  @AfterEach
  void close() {
    store.close();
  }

  private void put(int n, int bytes, long ttlMillis) {
    String key = String.format("key-%04d", n);
    byte[] value = new byte[bytes];
    store.random.nextBytes(value);
    store.put(key, value, ttlMillis);
  }

  /** All values are in tables; the last key expires. */
  private void fillInline() {
    for (int n = 0; n < KEYS; n++) {
      put(n, VALUE_BYTES, n == KEYS - 1 ? TTL_MILLIS : 0);
    }
    store.engine.compactTables();
    assertEquals(0, recordsApart());
  }

  /** About the number of values in blob files. */
  private long recordsApart() {
    return store.engine.segments().stream()
            .filter(SegmentStats::relocated)
            .mapToLong(SegmentStats::liveBytes)
            .sum()
        / VALUE_BYTES;
  }

  private void outgrowMemory() {
    startOutgrown();
    store.engine.compactTables();
  }

  /** Leaves something to do for a compaction of all tables. */
  private void startOutgrown() {
    store.memoryBytes = 0;
    for (int n = 0; n < KEYS; n += 10) {
      put(n, VALUE_BYTES, 0);
    }
    store.engine.flush();
  }

  @Test
  void valuesLeaveTheTables() {
    fillInline();
    outgrowMemory();
    assertTrue(recordsApart() >= KEYS - 1, recordsApart() + " records");
    store.check();
    store.reopen();
    store.check();
    store.engine.compact();
    store.check();
  }

  @Test
  void shortValuesStay() {
    for (int n = 0; n < 4 * KEYS; n++) {
      put(n, /* bytes= */ 16, 0);
    }
    store.engine.compactTables();
    outgrowMemory();
    assertTrue(recordsApart() <= KEYS / 4, recordsApart() + " records");
    store.check();
  }

  @Test
  void valuesExpireAsBefore() {
    fillInline();
    outgrowMemory();
    String last = store.model.lastKey();
    store.clock.advance(TTL_MILLIS - 1);
    store.check();
    store.clock.advance(1);
    assertNull(store.get(last));
  }

  @Test
  void eachVersionThatASnapshotSeesIsFound() {
    fillInline();
    TreeMap<String, byte[]> then = new TreeMap<>(store.model);
    SnapshotLease snapshot = store.engine.reads().acquireSnapshot();
    fillInline();
    outgrowMemory();
    assertTrue(recordsApart() >= 2 * KEYS - 1, recordsApart() + " records");
    store.check(then, snapshot);
    store.engine.reads().releaseSnapshot(snapshot);
    store.check();
    store.engine.compact();
    store.check();
  }

  @Test
  void aFailureOfAnyOperationLeavesTheTablesAsTheyWere() throws IOException {
    fillInline();
    startOutgrown();
    CrashableStorage before = store.storage.moment();
    boolean failed = true;
    for (int n = 1; failed; n++) {
      store.openAt(before.moment());
      store.storage.failAt(n, Fault.EIO, /* sticky= */ false);
      failed = false;
      try {
        store.engine.compactTables();
      } catch (KvException e) {
        failed = true;
      }
      store.storage.clearFaults();
      if (store.engine.stats().failed()) {
        assertThrows(StoreFailedException.class, store.engine::close);
        store.openAfterFailure(store.storage.crashSyncedOnly());
      } else {
        store.check();
        store.requireLogFilesListed();
        store.reopen();
      }
      store.check();
    }
    assertTrue(recordsApart() >= KEYS - 1, recordsApart() + " records");
  }

  @Test
  void aCrashAtAnyOperationLosesNothing() {
    fillInline();
    startOutgrown();
    List<CrashableStorage> moments = new ArrayList<>();
    store.storage.watch(moments::add);
    store.engine.compactTables();
    store.storage.watch(null);
    assertTrue(recordsApart() >= KEYS - 1, recordsApart() + " records");
    for (CrashableStorage moment : moments) {
      for (CrashableStorage state : moment.crashStates(4)) {
        store.openAt(state);
        store.check();
      }
    }
  }

  @Test
  void repairPrefersAnInlineValueToAPointerWhoseFileIsLost() throws IOException {
    fillInline();
    startOutgrown();
    store.engine.sync();
    List<String> before = store.storage.list();
    List<CrashableStorage> moments = new ArrayList<>();
    store.storage.watch(moments::add);
    store.engine.compactTables();
    store.storage.watch(null);
    int repaired = 0;
    for (CrashableStorage moment : moments) {
      CrashableStorage left = moment.crashKeepingAll();
      if (left.list().containsAll(before)) {
        for (String name : left.list()) {
          StoreFiles.Kind kind = StoreFiles.kindOf(name);
          boolean isTable = kind == StoreFiles.Kind.TABLE;
          boolean isOldSegment = kind == StoreFiles.Kind.SEGMENT && before.contains(name);
          if (!isTable && !isOldSegment) {
            left.delete(name);
          }
        }
        requireRepaired(left);
        repaired++;
      }
    }
    assertTrue(repaired > 0);
  }

  private void requireRepaired(CrashableStorage left) throws IOException {
    try (StorageEngine target = Engines.open(new CrashableStorage(), new ManualScheduler(1, 2))) {
      Repair.run(new Repair.Input(left, new CrashableStorage(), target, 1_000, 16 << 10));
      for (String key : store.model.keySet()) {
        byte[] found = target.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
        assertArrayEquals(store.model.get(key), found, key);
      }
    }
  }
}
