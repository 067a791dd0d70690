package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.RefusingScheduler;
import io.kvsep.testing.WarningHandler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What deleted ranges give back, when, and that no reader is in the way of it. */
final class RangeDeleteSpaceTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final byte[] FIRST = {};
  private static final byte[] LAST = {(byte) 0xff};

  private final CrashableStorage storage = new CrashableStorage();
  private final HookedClock clock = new HookedClock();
  private final ManualScheduler scheduler = new ManualScheduler(5, 2);
  private final StorageEngine engine =
      StorageEngine.open(
          Engines.config(storage, CommitSync.ON_DEMAND, clock, new Random(7), scheduler));

  @AfterEach
  void everythingIsGivenBack() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  @Test
  void tablesAndSegmentsOfADeletedRangeGoWithTheFlushOfTheDelete() throws IOException {
    fill(600);
    assertTrue(count(StoreFiles.Kind.TABLE) > 3);
    assertTrue(count(StoreFiles.Kind.SEGMENT) > 1);
    engine.writes().deleteRange(0, FIRST, LAST);
    engine.flush();
    collect();
    // The table that says so, and the end of the log.
    assertEquals(1, count(StoreFiles.Kind.TABLE));
    assertTrue(count(StoreFiles.Kind.SEGMENT) <= 1);
    assertEmpty();
    engine.compact();
    collect();
    assertEquals(0, count(StoreFiles.Kind.TABLE));
    assertEmpty();
  }

  @Test
  void tablesThatASnapshotNeedsGoWhenItIsReleased() throws IOException {
    fill(600);
    int tables = count(StoreFiles.Kind.TABLE);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    engine.writes().deleteRange(0, FIRST, LAST);
    engine.flush();
    collect();
    assertEquals(tables + 1, count(StoreFiles.Kind.TABLE));
    assertArrayEquals(value(7), engine.reads().get(0, key(7), snapshot));
    engine.reads().releaseSnapshot(snapshot);
    // Nothing else is written: the timer has to see to it.
    collect();
    assertEquals(1, count(StoreFiles.Kind.TABLE));
    // That of the log's end, and one that was made ahead of need.
    assertTrue(count(StoreFiles.Kind.SEGMENT) <= 2);
    assertEmpty();
  }

  /** A thread that looks has asked for the snapshots by then, and does not see later ones. */
  @Test
  void tablesThatASnapshotNeedsGoWhenItIsReleasedDuringTheLook() throws IOException {
    CrashableStorage disk = new CrashableStorage();
    Runnable[] whenOpened = {() -> {}};
    ForwardingStorage watched =
        new ForwardingStorage(disk) {
          @Override
          public StorageFile open(String name, boolean writable) throws IOException {
            Runnable once = whenOpened[0];
            whenOpened[0] = () -> {};
            once.run();
            return super.open(name, writable);
          }
        };
    ManualScheduler timer = new ManualScheduler(5, 2);
    try (StorageEngine store = Engines.open(watched, timer)) {
      store.writes().put(0, key(1), value(1), 0);
      store.compact();
      SnapshotLease snapshot = store.reads().acquireSnapshot();
      store.writes().deleteRange(0, FIRST, LAST);
      boolean[] released = new boolean[1];
      // The table of the delete is opened for its ranges.
      whenOpened[0] =
          () -> {
            released[0] = true;
            store.reads().releaseSnapshot(snapshot);
          };
      store.flush();
      assertTrue(released[0]);
      assertEquals(2, count(disk, StoreFiles.Kind.TABLE));
      // It finds the snapshot released, and compacts nothing yet.
      timer.tick();
      assertEquals(1, count(disk, StoreFiles.Kind.TABLE));
    }
  }

  @Test
  void tablesThatWereCompactedUnderASnapshotGoWhenItIsReleased() throws IOException {
    fill(600);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    engine.writes().deleteRange(0, FIRST, LAST);
    engine.compact();
    collect();
    assertArrayEquals(value(7), engine.reads().get(0, key(7), snapshot));
    int tables = count(StoreFiles.Kind.TABLE);
    engine.reads().releaseSnapshot(snapshot);
    collect();
    assertTrue(tables > 4);
    assertEmpty();
    // Also the last one, though nothing says that it has no entry of the key where the range ends.
    assertEquals(0, count(StoreFiles.Kind.TABLE));
    // That of the log's end, and one that was made ahead of need.
    assertTrue(count(StoreFiles.Kind.SEGMENT) <= 2);
  }

  @Test
  void tablesThatASnapshotKeptUpToTheEndGoAfterAReopen() throws IOException {
    fill(600);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    engine.writes().deleteRange(0, FIRST, LAST);
    engine.flush();
    collect();
    assertArrayEquals(value(7), engine.reads().get(0, key(7), snapshot));
    engine.close();
    CrashableStorage copy = storage.crashKeepingAll();
    ManualScheduler timer = new ManualScheduler(5, 2);
    StorageEngine reopened =
        StorageEngine.open(Engines.config(copy, CommitSync.ON_DEMAND, clock, new Random(7), timer));
    for (int i = 0; i < 4; i++) {
      timer.tick();
    }
    assertEquals(1, count(copy, StoreFiles.Kind.TABLE));
    reopened.close();
  }

  /** There is no flush that could make room in a store that only reads. */
  @Test
  void moreRangesThanAMemtableTakesAreReadFromTheLog() {
    CrashableStorage unclean = new CrashableStorage();
    StorageEngine writer =
        StorageEngine.open(
            Engines.config(
                unclean, CommitSync.ON_DEMAND, clock, new Random(7), new ManualScheduler(5, 2)));
    for (int i = 0; i < 3_000; i++) {
      writer.writes().put(0, key(i), value(2), 0);
    }
    writer.flush();
    BatchWrites deletes = new BatchWrites();
    for (int i = 1; i < 3_000; i += 2) {
      deletes.deleteRange(0, key(i), key(i + 1));
    }
    writer.writes().write(deletes, CommitSync.ON_DEMAND);
    CrashableStorage copy = unclean.crashKeepingAll();
    assertThrows(KvException.class, writer::close);
    EngineConfig writing =
        Engines.config(copy, CommitSync.ON_DEMAND, clock, new Random(7), new ManualScheduler(5, 2));
    StorageEngine reader = StorageEngine.open(ConfigDraft.of(writing).readOnly(true).build());
    try (SnapshotCursor cursor = reader.reads().cursor(ALL, StoreReads.LATEST)) {
      for (int i = 0; i < 3_000; i += 2) {
        assertTrue(cursor.next());
        assertArrayEquals(key(i), cursor.key());
      }
      assertFalse(cursor.next());
    }
    reader.close();
    assertEquals(0, reader.memoryBytes());
  }

  @Test
  void tablesThatACursorNeedsStayUntilItIsClosed() throws IOException {
    fill(600);
    int tables = count(StoreFiles.Kind.TABLE);
    try (SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST)) {
      assertTrue(cursor.next());
      engine.writes().deleteRange(0, FIRST, LAST);
      engine.flush();
      collect();
      assertEquals(tables + 1, count(StoreFiles.Kind.TABLE));
      for (int i = 0; i < 600; i++) {
        assertArrayEquals(key(i), cursor.key());
        assertArrayEquals(value(i), cursor.value());
        assertEquals(i < 599, cursor.next());
      }
    }
    collect();
    assertEquals(1, count(StoreFiles.Kind.TABLE));
  }

  @Test
  void compactionLeavesNoRangeBehindOnceNoSnapshotIsOpen() throws IOException {
    fill(100);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    engine.writes().deleteRange(0, key(20), key(80));
    engine.compact();
    engine.compact();
    assertArrayEquals(value(50), engine.reads().get(0, key(50), snapshot));
    assertNull(engine.reads().get(0, key(50), StoreReads.LATEST));
    long before = storageBytes();
    engine.reads().releaseSnapshot(snapshot);
    engine.compact();
    collect();
    assertTrue(storageBytes() < before);
    long without = storageBytes();
    // Were there a range left, there would be something to rewrite.
    long compactions = engine.stats().compactions();
    engine.compact();
    assertEquals(compactions, engine.stats().compactions());
    assertEquals(without, storageBytes());
    assertArrayEquals(value(80), engine.reads().get(0, key(80), StoreReads.LATEST));
  }

  /** A full compaction chooses what to rewrite at once, and rewrites it one after the other. */
  @Test
  void tablesThatAreCoveredDuringAFullCompactionAreNotMissed() throws IOException {
    fill(600);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    for (int i = 0; i < 600; i += 10) {
      engine.writes().delete(0, key(i));
    }
    engine.compact();
    engine.reads().releaseSnapshot(snapshot);
    assertTrue(count(StoreFiles.Kind.TABLE) > 3);
    clock.hook =
        () -> {
          engine.writes().deleteRange(0, FIRST, LAST);
          engine.flush();
        };
    engine.compact();
    assertNull(clock.hook);
    assertEmpty();
    engine.compact();
    collect();
    assertEquals(0, count(StoreFiles.Kind.TABLE));
    assertEmpty();
  }

  @Test
  void tablesThatAreCoveredDuringAFullCompactionGo() throws IOException {
    fill(600);
    assertTrue(count(StoreFiles.Kind.TABLE) > 3);
    AtomicInteger asked = new AtomicInteger();
    clock.hook = () -> countFrom(asked);
    engine.compact();
    hookAt(
        asked.get(),
        () -> {
          engine.writes().deleteRange(0, FIRST, LAST);
          engine.flush();
        });
    engine.compact();
    assertNull(clock.hook);
    for (int i = 0; i < 4; i++) {
      scheduler.tick();
    }
    assertEquals(1, count(StoreFiles.Kind.TABLE));
    assertEmpty();
  }

  private void countFrom(AtomicInteger asked) {
    asked.incrementAndGet();
    clock.hook = () -> countFrom(asked);
  }

  /** Has something done the n-th time that the clock is asked. */
  private void hookAt(int time, Runnable action) {
    clock.hook = time == 1 ? action : () -> hookAt(time - 1, action);
  }

  @ParameterizedTest
  @EnumSource(Refusal.class)
  void tablesThatCannotBeDroppedAreTriedAgain(Refusal refusal) throws IOException {
    try (FailedDrop failed = new FailedDrop(refusal)) {
      assertTrue(count(failed.disk, StoreFiles.Kind.TABLE) > 3);
      failed.tick();
      assertEquals(1, count(failed.disk, StoreFiles.Kind.TABLE));
    }
  }

  @ParameterizedTest
  @EnumSource(Refusal.class)
  void tablesThatCannotBeDroppedAreWarnedOfOnce(Refusal refusal) {
    List<String> warnings = Collections.synchronizedList(new ArrayList<>());
    try (WarningHandler handler =
            WarningHandler.begin(record -> warnings.add(record.getMessage()));
        FailedDrop failed = new FailedDrop(refusal)) {
      String told = String.join("\n", warnings);
      assertEquals(1, told.split("cannot be dropped", -1).length - 1, told);
      failed.tick();
    }
  }

  @ParameterizedTest
  @EnumSource(Refusal.class)
  void aFlushHasNotFailedBecauseTablesBehindItCannotBeDropped(Refusal refusal) {
    try (FailedDrop failed = new FailedDrop(refusal)) {
      failed.tick();
      failed.lanes.refuse();
      // More than all memtables take; writers wait for flushes.
      for (int i = 0; i < 1_000; i++) {
        failed.putBehindRange(i);
      }
    }
  }

  private void fill(int count) {
    for (int i = 0; i < count; i++) {
      engine.writes().put(0, key(i), value(i), 0);
      scheduler.runAll();
    }
    engine.compact();
    collect();
  }

  /** Lets the timer run, often enough for whatever is retired to be freed. */
  private void collect() {
    for (int i = 0; i < 4; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
  }

  private void assertEmpty() {
    try (SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST)) {
      assertFalse(cursor.next());
      assertFalse(cursor.previous());
    }
    assertNull(engine.reads().get(0, key(3), StoreReads.LATEST));
  }

  private int count(StoreFiles.Kind kind) throws IOException {
    return count(storage, kind);
  }

  private static int count(CrashableStorage of, StoreFiles.Kind kind) throws IOException {
    return (int) of.list().stream().filter(name -> StoreFiles.kindOf(name) == kind).count();
  }

  private long storageBytes() throws IOException {
    long bytes = 0;
    for (String name : storage.list()) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE) {
        bytes += storage.contents(name).length;
      }
    }
    return bytes;
  }

  private static byte[] key(int index) {
    return String.format("key-%04d", index).getBytes(UTF_8);
  }

  /** Every other one lives beside its key. */
  private static byte[] value(int index) {
    byte[] value = new byte[index % 2 == 0 ? 60 : 300];
    new Random(index).nextBytes(value);
    return value;
  }

  /** What a device did for a moment. */
  private enum Refusal {
    /** It had no room for what says that tables are dropped. */
    FULL(Fault.ENOSPC, true, Operation.WRITE, StoreFiles.Kind.MANIFEST),
    /** It did not let any call read what covers them. */
    UNREADABLE(Fault.EIO, false, Operation.MAP, StoreFiles.Kind.TABLE);

    private final Fault fault;
    private final boolean sticky;
    private final Operation operation;
    private final StoreFiles.Kind kind;

    Refusal(Fault fault, boolean sticky, Operation operation, StoreFiles.Kind kind) {
      this.fault = fault;
      this.sticky = sticky;
      this.operation = operation;
      this.kind = kind;
    }
  }

  /** A store whose device refused for a moment, behind a flush of a delete that covers tables. */
  private static final class FailedDrop implements AutoCloseable {
    final CrashableStorage disk = new CrashableStorage();
    final ManualScheduler tasks = new ManualScheduler(5, 2);
    final RefusingScheduler lanes = new RefusingScheduler(tasks);
    final StorageEngine store = Engines.open(disk, lanes);

    FailedDrop(Refusal refusal) {
      for (int i = 0; i < 600; i++) {
        store.writes().put(0, key(i), value(i), 0);
        tasks.runAll();
      }
      store.compact();
      tick();
      // They would drop the tables, too.
      lanes.refuse(Scheduler.Lane.COMPACTION);
      store.writes().deleteRange(0, FIRST, LAST);
      long flushes = store.stats().flushes();
      disk.failAt(
          1,
          refusal.fault,
          refusal.sticky,
          (operation, name) ->
              operation == refusal.operation
                  && StoreFiles.kindOf(name) == refusal.kind
                  && store.stats().flushes() > flushes);
      for (int i = 0; store.stats().flushes() == flushes; i++) {
        putBehindRange(i);
        tasks.runAll();
      }
      disk.clearFaults();
    }

    void putBehindRange(int index) {
      byte[] key = {LAST[0], (byte) (index >> 8), (byte) index};
      store.writes().put(0, key, new byte[40], 0);
    }

    /** Often enough for whatever is tried again ever more rarely. */
    void tick() {
      for (int i = 0; i < 100; i++) {
        tasks.tick();
        tasks.runAll();
      }
    }

    @Override
    public void close() {
      store.close();
      assertEquals(0, store.memoryBytes());
      assertEquals(List.of(), disk.openFiles());
    }
  }

  /** Stands still; does something once when it is asked. */
  private static final class HookedClock extends ManualClock {
    @Nullable Runnable hook;

    HookedClock() {
      super(1_000);
    }

    @Override
    public long millis() {
      Runnable once = hook;
      hook = null;
      if (once != null) {
        once.run();
      }
      return super.millis();
    }
  }
}
