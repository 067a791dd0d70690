package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.SegmentStats;
import io.kvsep.error.KvException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.repair.Repair;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Once a store has outgrown memory, compactions take values out of the tables. */
final class ValueSeparationTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final int KEYS = 200;

  /** Inline, until the store outgrows memory. */
  private static final int VALUE_BYTES = 60;

  private static final long TTL_MILLIS = 1_000_000;

  private final ManualClock clock = new ManualClock(1_000);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private final Random random = new Random(1);
  private CrashableStorage storage = new CrashableStorage();
  private long memoryBytes = Long.MAX_VALUE;
  private StorageEngine engine = open();

  private StorageEngine open() {
    EngineConfig base =
        Engines.config(
            storage, CommitSync.ON_DEMAND, clock, new Random(1), new ManualScheduler(1, 2));
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 64 << 10);
    return StorageEngine.open(
        ConfigDraft.of(base)
            .segmentBytes(64 << 10)
            .reclaim(new Reclaim(goal, 0, Long.MAX_VALUE, () -> memoryBytes))
            .build());
  }

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  private void openAt(CrashableStorage at) {
    close();
    storage = at;
    engine = open();
  }

  private void reopen() {
    close();
    storage = storage.crashSyncedOnly();
    engine = open();
  }

  private void put(int n, int bytes, long ttlMillis) {
    String key = String.format("key-%04d", n);
    byte[] value = new byte[bytes];
    random.nextBytes(value);
    engine.writes().put(0, key.getBytes(UTF_8), value, ttlMillis);
    model.put(key, value);
  }

  /** All values are in tables; the last key expires. */
  private void fillInline() {
    for (int n = 0; n < KEYS; n++) {
      put(n, VALUE_BYTES, n == KEYS - 1 ? TTL_MILLIS : 0);
    }
    engine.compactTables();
    assertEquals(0, recordsApart());
  }

  /** About the number of values in blob files. */
  private long recordsApart() {
    return engine.segments().stream()
            .filter(SegmentStats::relocated)
            .mapToLong(SegmentStats::liveBytes)
            .sum()
        / VALUE_BYTES;
  }

  private void outgrowMemory() {
    startOutgrown();
    engine.compactTables();
  }

  /** Leaves something to do for a compaction of all tables. */
  private void startOutgrown() {
    memoryBytes = 0;
    for (int n = 0; n < KEYS; n += 10) {
      put(n, VALUE_BYTES, 0);
    }
    engine.flush();
  }

  private void check() {
    check(model, StoreReads.LATEST);
    for (String key : model.keySet()) {
      byte[] found = engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
      assertArrayEquals(model.get(key), found, key);
    }
    assertEquals(List.of(), engine.verify().problems());
    assertEquals(List.of(), engine.verify().unknownFiles());
  }

  private void check(Map<String, byte[]> expected, SnapshotLease at) {
    try (SnapshotCursor cursor = engine.reads().cursor(ALL, at)) {
      for (Map.Entry<String, byte[]> entry : expected.entrySet()) {
        assertTrue(cursor.next());
        assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
        assertArrayEquals(entry.getValue(), cursor.value());
      }
      assertFalse(cursor.next());
    }
  }

  @Test
  void valuesLeaveTheTables() {
    fillInline();
    outgrowMemory();
    assertTrue(recordsApart() >= KEYS - 1, recordsApart() + " records");
    check();
    reopen();
    check();
    engine.compact();
    check();
  }

  @Test
  void shortValuesStay() {
    for (int n = 0; n < 4 * KEYS; n++) {
      put(n, /* bytes= */ 16, 0);
    }
    engine.compactTables();
    outgrowMemory();
    assertTrue(recordsApart() <= KEYS / 4, recordsApart() + " records");
    check();
  }

  @Test
  void valuesExpireAsBefore() {
    fillInline();
    outgrowMemory();
    byte[] last = model.lastKey().getBytes(UTF_8);
    clock.advance(TTL_MILLIS - 1);
    check();
    clock.advance(1);
    assertNull(engine.reads().get(0, last, StoreReads.LATEST));
  }

  @Test
  void eachVersionThatASnapshotSeesIsFound() {
    fillInline();
    TreeMap<String, byte[]> then = new TreeMap<>(model);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    fillInline();
    outgrowMemory();
    assertTrue(recordsApart() >= 2 * KEYS - 1, recordsApart() + " records");
    check(then, snapshot);
    engine.reads().releaseSnapshot(snapshot);
    check();
    engine.compact();
    check();
  }

  @Test
  void aFailureOfAnyOperationLeavesTheTablesAsTheyWere() throws IOException {
    fillInline();
    startOutgrown();
    CrashableStorage before = storage.moment();
    boolean failed = true;
    for (int n = 1; failed; n++) {
      openAt(before.moment());
      storage.failAt(n, Fault.EIO, /* sticky= */ false);
      failed = false;
      try {
        engine.compactTables();
      } catch (KvException e) {
        failed = true;
      }
      storage.clearFaults();
      if (engine.stats().failed()) {
        assertThrows(StoreFailedException.class, engine::close);
        storage = storage.crashSyncedOnly();
        engine = open();
      } else {
        check();
        assertEquals(logFiles(), engine.segments().stream().map(SegmentStats::file).toList());
        reopen();
      }
      check();
    }
    assertTrue(recordsApart() >= KEYS - 1, recordsApart() + " records");
  }

  private List<String> logFiles() throws IOException {
    return storage.list().stream()
        .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT)
        .sorted()
        .toList();
  }

  @Test
  void aCrashAtAnyOperationLosesNothing() {
    fillInline();
    startOutgrown();
    List<CrashableStorage> moments = new ArrayList<>();
    storage.watch(moments::add);
    engine.compactTables();
    storage.watch(null);
    assertTrue(recordsApart() >= KEYS - 1, recordsApart() + " records");
    for (CrashableStorage moment : moments) {
      for (CrashableStorage state : moment.crashStates(4)) {
        openAt(state);
        check();
      }
    }
  }

  @Test
  void repairPrefersAnInlineValueToAPointerWhoseFileIsLost() throws IOException {
    fillInline();
    startOutgrown();
    engine.sync();
    List<String> before = storage.list();
    List<CrashableStorage> moments = new ArrayList<>();
    storage.watch(moments::add);
    engine.compactTables();
    storage.watch(null);
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
      for (String key : model.keySet()) {
        byte[] found = target.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
        assertArrayEquals(model.get(key), found, key);
      }
    }
  }
}
