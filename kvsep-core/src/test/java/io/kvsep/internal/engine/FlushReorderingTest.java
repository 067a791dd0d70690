package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.SegmentStats;
import io.kvsep.StoreStats;
import io.kvsep.error.ChangesLostException;
import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.feed.ChangeReader;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store that does not fit into memory has flushes put its values in the order of their keys. */
final class FlushReorderingTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final int KEYS = 60;
  private static final int VALUE_BYTES = 200;
  private static final int QUIET_TICKS = 60;

  private final ManualClock clock = new ManualClock(1_000);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private final Random random = new Random(1);
  private CrashableStorage storage = new CrashableStorage();
  private ManualScheduler scheduler = new ManualScheduler(1, 2);

  /** From how many bytes on a store does not fit; it may change at any time. */
  private long memoryBytes;

  private long retainedBytes;
  private long largeFromBytes = Long.MAX_VALUE;
  private StorageEngine engine = open();

  private StorageEngine open() {
    scheduler = new ManualScheduler(1, 2);
    EngineConfig base =
        Engines.config(storage, CommitSync.ON_DEMAND, clock, new Random(1), scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 64 << 10).retaining(retainedBytes);
    return StorageEngine.open(
        ConfigDraft.of(base)
            .segmentBytes(64 << 10)
            .largeFromBytes(largeFromBytes)
            .compressionBytesMin(150)
            .shape(Engines.withOrderedFlushes())
            .reclaim(new Reclaim(goal, 0, Long.MAX_VALUE, () -> memoryBytes))
            .build());
  }

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  private void reopen() {
    close();
    storage = storage.crashSyncedOnly();
    engine = open();
  }

  private static String key(int index) {
    return String.format("key-%04d", index);
  }

  private void put(String key, int length, long ttlMillis) {
    byte[] value = new byte[length];
    // Every other value becomes shorter by compression.
    random.nextBytes(value);
    if (random.nextBoolean()) {
      Arrays.fill(value, length / 3, length, (byte) 7);
    }
    engine.writes().put(0, key.getBytes(UTF_8), value, ttlMillis);
    model.put(key, value);
  }

  /** Writes all keys in no order. */
  private void fill() {
    fill(VALUE_BYTES);
  }

  private void fill(int valueBytes) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < KEYS; i++) {
      order.add(i);
    }
    Collections.shuffle(order, random);
    order.forEach(i -> put(key(i), valueBytes, 0));
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
      check(expected, cursor);
    }
  }

  private static void check(Map<String, byte[]> expected, SnapshotCursor cursor) {
    for (Map.Entry<String, byte[]> entry : expected.entrySet()) {
      assertTrue(cursor.next());
      assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
      assertArrayEquals(entry.getValue(), cursor.value());
    }
    assertFalse(cursor.next());
  }

  private record Place(long segment, long offset) {}

  /** Where the pointers of all tables lead, in the order of keys within each table. */
  private List<Place> places() throws IOException {
    MemoryLedger ledger = new MemoryLedger();
    List<Place> places = new ArrayList<>();
    try (VersionSet versions =
        VersionSet.open(
            storage, /* readOnly= */ true, ledger, (tables, segments) -> {}, Readers.unbounded())) {
      for (int level = 0; level < Version.LEVELS; level++) {
        for (TableFile table : versions.current().tables(level)) {
          addPlaces(table, ledger, places);
          table.close();
        }
      }
    }
    return places;
  }

  private static void addPlaces(TableFile table, MemoryLedger ledger, List<Place> places) {
    try (InternalIterator entries = table.iterator(ledger)) {
      for (entries.seekToFirst(); entries.isValid(); entries.next()) {
        int kind = Tag.kind(entries.tag());
        if (Tag.baseKind(kind) == Tag.POINTER) {
          long at = entries.payloadOffset() + Payload.headerLength(kind);
          places.add(
              new Place(
                  ValuePointer.segment(entries.payloadRegion(), at),
                  ValuePointer.offset(entries.payloadRegion(), at)));
        }
      }
    }
  }

  private long filesInOrder() {
    return engine.segments().stream().filter(SegmentStats::relocated).count();
  }

  private long filesAsWritten() {
    return engine.segments().size() - filesInOrder();
  }

  private void requireAscending(List<Place> places, int count) {
    assertEquals(count, places.size());
    for (int i = 1; i < places.size(); i++) {
      assertEquals(places.get(0).segment, places.get(i).segment);
      assertTrue(places.get(i - 1).offset < places.get(i).offset, places::toString);
    }
  }

  @Test
  void theValuesOfAFlushLieInOneFileInTheOrderOfTheirKeys() throws IOException {
    fill();
    engine.flush();
    requireAscending(places(), KEYS);
    assertEquals(1, filesInOrder());
    assertEquals(0, filesAsWritten(), "the log is dead");
    check();
    reopen();
    check();
    fill();
    engine.flush();
    engine.compact();
    check();
    assertFalse(storage.exists("000002.vlog"), "the first file is dead");
  }

  @Test
  void whereAllFitsIntoMemoryValuesStayInTheLog() {
    memoryBytes = Long.MAX_VALUE;
    fill();
    engine.flush();
    assertEquals(0, filesInOrder());
    check();
  }

  @Test
  void fewerValuesAreInlineOnceAllDoesNotFitIntoMemory() throws IOException {
    memoryBytes = Long.MAX_VALUE;
    fill(40);
    engine.flush();
    assertEquals(List.of(), places(), "inline");
    memoryBytes = 0;
    fill();
    engine.flush();
    fill(40);
    engine.flush();
    assertEquals(2 * KEYS, places().size());
    check();
    reopen();
    check();
    memoryBytes = Long.MAX_VALUE;
    fill(40);
    engine.compact();
    assertEquals(List.of(), places());
    check();
  }

  @Test
  void aLargeStoreInMemoryOrdersTheValuesThatItNoLongerHasInline() throws IOException {
    engine.close();
    memoryBytes = Long.MAX_VALUE;
    largeFromBytes = 4 << 10;
    storage = new CrashableStorage();
    engine = open();
    fill();
    engine.flush();
    assertEquals(0, filesInOrder(), "longer values stay in the log");
    for (int i = 0; i < 4; i++) {
      fill(60);
    }
    engine.flush();
    assertEquals(1, filesInOrder());
    engine.compactTables();
    check();
  }

  @Test
  void valuesThatWereWrittenInOrderStayInTheLog() {
    for (int i = 0; i < KEYS; i++) {
      put(key(i), VALUE_BYTES, 0);
    }
    engine.flush();
    assertEquals(0, filesInOrder());
    check();
  }

  @Test
  void longValuesStayInTheLog() throws IOException {
    fill();
    put("long", 40_000, 0);
    engine.flush();
    List<Place> places = places();
    Place last = places.remove(places.size() - 1);
    requireAscending(places, KEYS);
    assertFalse(last.segment == places.get(0).segment);
    check();
  }

  @Test
  void aFewValuesAreNotWorthAFile() {
    put(key(2), VALUE_BYTES, 0);
    put(key(1), VALUE_BYTES, 0);
    engine.flush();
    assertEquals(0, filesInOrder());
    check();
  }

  @Test
  void everyVersionThatASnapshotSeesIsMoved() throws IOException {
    fill();
    TreeMap<String, byte[]> then = new TreeMap<>(model);
    SnapshotLease snapshot = engine.reads().acquireSnapshot();
    SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
    fill();
    engine.flush();
    requireAscending(places(), 2 * KEYS);
    check(then, snapshot);
    check(then, cursor);
    cursor.close();
    engine.reads().releaseSnapshot(snapshot);
    check();
    assertEquals(0, filesAsWritten());
  }

  @Test
  void whatHasExpiredOrWasReplacedIsNotMoved() throws IOException {
    fill();
    fill();
    put(key(0), VALUE_BYTES, 10);
    put(key(1), VALUE_BYTES, 1_000);
    clock.advance(20);
    model.remove(key(0));
    engine.flush();
    requireAscending(places(), KEYS - 1);
    check();
  }

  /** Each flush may fail in its own way; none fails for the sake of order. */
  private void requireFlushedWithout(Fault fault, BiPredicate<Operation, String> call)
      throws IOException {
    fill();
    engine.sync();
    storage.failAt(1, fault, /* sticky= */ true, call);
    engine.flush();
    storage.clearFaults();
    assertEquals(0, filesInOrder());
    List<String> files = new ArrayList<>();
    engine.segments().forEach(file -> files.add(file.file()));
    List<String> there = new ArrayList<>(storage.list());
    there.removeIf(name -> StoreFiles.kindOf(name) != StoreFiles.Kind.SEGMENT);
    Collections.sort(there);
    assertEquals(there, files);
    check();
  }

  @Test
  void aFullDiskLeavesValuesInTheLog() throws IOException {
    requireFlushedWithout(
        Fault.ENOSPC, (kind, name) -> kind == Operation.WRITE && name.equals("000002.vlog"));
  }

  @Test
  void aFileThatCannotBeMadeLeavesValuesInTheLog() throws IOException {
    requireFlushedWithout(
        Fault.EIO, (kind, name) -> kind == Operation.CREATE && name.endsWith(".vlog"));
  }

  @Test
  void aFileThatCannotBeSyncedLeavesValuesInTheLog() throws IOException {
    requireFlushedWithout(
        Fault.EIO, (kind, name) -> kind == Operation.SYNC && name.equals("000002.vlog"));
  }

  @Test
  void aRecordThatCannotBeReadLeavesValuesInTheLog() throws IOException {
    requireFlushedWithout(
        Fault.EIO,
        (kind, name) ->
            (kind == Operation.READ || kind == Operation.MAP) && name.equals("000001.vlog"));
  }

  @Test
  void aDamagedRecordIsReportedByItsReadersAlone() throws IOException {
    fill();
    engine.sync();
    // No checksum of another record covers that byte, and the last one is not mapped yet.
    storage.corrupt("000001.vlog", 150, bits -> bits ^ 0x40);
    engine.flush();
    assertEquals(0, filesInOrder());
    assertFalse(engine.verify().problems().isEmpty());
    int lost = 0;
    for (String key : model.keySet()) {
      try {
        engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
      } catch (CorruptionException e) {
        lost++;
      }
    }
    assertEquals(1, lost);
  }

  @Test
  void anOpenChangeFeedMissesNothing() {
    fill();
    ChangeReader feed = engine.changes().open(0);
    engine.flush();
    fill();
    engine.flush();
    for (int i = 0; i < 2 * KEYS; i++) {
      assertNotNull(feed.poll(each -> each), "change " + i);
    }
    assertNull(feed.poll(each -> each));
    feed.close();
    check();
    assertNotNull(engine.changes().open(0).poll(each -> each));
    // Nobody follows any more, so the log goes with the next flush.
    fill();
    engine.flush();
    check();
  }

  @Test
  void aLogThatIsRetainedStaysThoughItsValuesAreMoved() {
    engine.close();
    retainedBytes = 1 << 20;
    storage = new CrashableStorage();
    engine = open();
    fill();
    engine.flush();
    assertEquals(1, filesInOrder());
    assertEquals(1, filesAsWritten());
    ChangeReader feed = engine.changes().open(0);
    for (int i = 0; i < KEYS; i++) {
      assertNotNull(feed.poll(each -> each), "change " + i);
    }
    feed.close();
    check();
  }

  @Test
  void aFeedFromBeforeTheFlushIsToldThatItsChangesAreLost() {
    fill();
    engine.flush();
    assertThrows(ChangesLostException.class, () -> engine.changes().open(0));
  }

  @Test
  void nothingIsRewrittenWhenNobodyWrites() {
    for (int i = 0; i < 5; i++) {
      fill();
      engine.flush();
    }
    engine.compact();
    StoreStats before = engine.stats();
    for (int i = 0; i < QUIET_TICKS; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
    assertEquals(0, engine.stats().reclaim().filesRewritten());
    assertEquals(before.logBytesWritten(), engine.stats().logBytesWritten());
    check();
  }

  /** What memtables cover is out of order, and a scan wants it in memory. */
  @Test
  void memtablesOfAStoreThatDoesNotFitCoverLess() {
    fill();
    engine.flush();
    for (int i = 0; i < 4; i++) {
      fill();
    }
    scheduler.runAll();
    assertEquals(2, engine.stats().flushes());
    check();
  }

  @Test
  void whatIsWrittenTwiceIsCountedTwice() throws IOException {
    fill();
    long logBytes = engine.stats().logBytesWritten();
    engine.flush();
    long moved = engine.stats().logBytesWritten() - logBytes;
    assertEquals(moved, engine.stats().logBytes());
    assertEquals(moved, storage.contents("000002.vlog").length);
    long live = engine.stats().logLiveBytes();
    assertTrue(live > 0.9 * moved && live < moved, live + " of " + moved);
  }
}
