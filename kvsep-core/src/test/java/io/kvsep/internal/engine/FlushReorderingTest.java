package io.kvsep.internal.engine;

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
import io.kvsep.internal.feed.ChangeReader;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store that does not fit into memory has flushes put its values in the order of their keys. */
final class FlushReorderingTest {
  private static final int KEYS = 60;
  private static final int VALUE_BYTES = 200;
  private static final int QUIET_TICKS = 60;

  private final LargeStoreFixture store =
      new LargeStoreFixture(
          /* memoryBytes= */ 0,
          draft -> draft.compressionBytesMin(150).shape(Engines.withOrderedFlushes()));

  @AfterEach
  void close() {
    store.close();
  }

  private static String key(int index) {
    return String.format("key-%04d", index);
  }

  private void put(String key, int length, long ttlMillis) {
    byte[] value = new byte[length];
    // Every other value becomes shorter by compression.
    store.random.nextBytes(value);
    if (store.random.nextBoolean()) {
      Arrays.fill(value, length / 3, length, (byte) 7);
    }
    store.put(key, value, ttlMillis);
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
    Collections.shuffle(order, store.random);
    order.forEach(i -> put(key(i), valueBytes, 0));
  }

  private record Place(long segment, long offset) {}

  /** Where the pointers of all tables lead, in the order of keys within each table. */
  private List<Place> places() throws IOException {
    MemoryLedger ledger = new MemoryLedger();
    List<Place> places = new ArrayList<>();
    try (VersionSet versions =
        VersionSet.open(
            store.storage,
            /* readOnly= */ true,
            ledger,
            (tables, segments) -> {},
            Readers.unbounded())) {
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
    return store.engine.segments().stream().filter(SegmentStats::relocated).count();
  }

  private long filesAsWritten() {
    return store.engine.segments().size() - filesInOrder();
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
    store.engine.flush();
    requireAscending(places(), KEYS);
    assertEquals(1, filesInOrder());
    assertEquals(0, filesAsWritten(), "the log is dead");
    store.check();
    store.reopen();
    store.check();
    fill();
    store.engine.flush();
    store.engine.compact();
    store.check();
    assertFalse(store.storage.exists("000002.vlog"), "the first file is dead");
  }

  @Test
  void whereAllFitsIntoMemoryValuesStayInTheLog() {
    store.memoryBytes = Long.MAX_VALUE;
    fill();
    store.engine.flush();
    assertEquals(0, filesInOrder());
    store.check();
  }

  @Test
  void fewerValuesAreInlineOnceAllDoesNotFitIntoMemory() throws IOException {
    store.memoryBytes = Long.MAX_VALUE;
    fill(40);
    store.engine.flush();
    assertEquals(List.of(), places(), "inline");
    store.memoryBytes = 0;
    fill();
    store.engine.flush();
    fill(40);
    store.engine.flush();
    assertEquals(2 * KEYS, places().size());
    store.check();
    store.reopen();
    store.check();
    store.memoryBytes = Long.MAX_VALUE;
    fill(40);
    store.engine.compact();
    assertEquals(List.of(), places());
    store.check();
  }

  @Test
  void aLargeStoreInMemoryOrdersTheValuesThatItNoLongerHasInline() throws IOException {
    store.memoryBytes = Long.MAX_VALUE;
    store.largeFromBytes = 4 << 10;
    store.openAt(new CrashableStorage());
    fill();
    store.engine.flush();
    assertEquals(0, filesInOrder(), "longer values stay in the log");
    for (int i = 0; i < 4; i++) {
      fill(60);
    }
    store.engine.flush();
    assertEquals(1, filesInOrder());
    store.engine.compactTables();
    store.check();
  }

  @Test
  void valuesThatWereWrittenInOrderStayInTheLog() {
    for (int i = 0; i < KEYS; i++) {
      put(key(i), VALUE_BYTES, 0);
    }
    store.engine.flush();
    assertEquals(0, filesInOrder());
    store.check();
  }

  @Test
  void longValuesStayInTheLog() throws IOException {
    fill();
    put("long", 40_000, 0);
    store.engine.flush();
    List<Place> places = places();
    Place last = places.remove(places.size() - 1);
    requireAscending(places, KEYS);
    assertFalse(last.segment == places.get(0).segment);
    store.check();
  }

  @Test
  void aFewValuesAreNotWorthAFile() {
    put(key(2), VALUE_BYTES, 0);
    put(key(1), VALUE_BYTES, 0);
    store.engine.flush();
    assertEquals(0, filesInOrder());
    store.check();
  }

  @Test
  void everyVersionThatASnapshotSeesIsMoved() throws IOException {
    fill();
    TreeMap<String, byte[]> then = new TreeMap<>(store.model);
    SnapshotLease snapshot = store.engine.reads().acquireSnapshot();
    SnapshotCursor cursor = store.cursor(StoreReads.LATEST);
    fill();
    store.engine.flush();
    requireAscending(places(), 2 * KEYS);
    store.check(then, snapshot);
    LargeStoreFixture.check(then, cursor);
    cursor.close();
    store.engine.reads().releaseSnapshot(snapshot);
    store.check();
    assertEquals(0, filesAsWritten());
  }

  @Test
  void whatHasExpiredOrWasReplacedIsNotMoved() throws IOException {
    fill();
    fill();
    put(key(0), VALUE_BYTES, 10);
    put(key(1), VALUE_BYTES, 1_000);
    store.clock.advance(20);
    store.model.remove(key(0));
    store.engine.flush();
    requireAscending(places(), KEYS - 1);
    store.check();
  }

  /** Each flush may fail in its own way; none fails for the sake of order. */
  private void requireFlushedWithout(Fault fault, BiPredicate<Operation, String> call)
      throws IOException {
    fill();
    store.engine.sync();
    store.storage.failAt(1, fault, /* sticky= */ true, call);
    store.engine.flush();
    store.storage.clearFaults();
    assertEquals(0, filesInOrder());
    store.requireLogFilesListed();
    store.check();
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
    store.engine.sync();
    // No checksum of another record covers that byte, and the last one is not mapped yet.
    store.storage.corrupt("000001.vlog", 150, bits -> bits ^ 0x40);
    store.engine.flush();
    assertEquals(0, filesInOrder());
    assertFalse(store.engine.verify().problems().isEmpty());
    int lost = 0;
    for (String key : store.model.keySet()) {
      try {
        store.get(key);
      } catch (CorruptionException e) {
        lost++;
      }
    }
    assertEquals(1, lost);
  }

  @Test
  void anOpenChangeFeedMissesNothing() {
    fill();
    ChangeReader feed = store.engine.changes().open(0);
    store.engine.flush();
    fill();
    store.engine.flush();
    for (int i = 0; i < 2 * KEYS; i++) {
      assertNotNull(feed.poll(each -> each), "change " + i);
    }
    assertNull(feed.poll(each -> each));
    feed.close();
    store.check();
    assertNotNull(store.engine.changes().open(0).poll(each -> each));
    // No follower is left, so the log goes with the next flush.
    fill();
    store.engine.flush();
    store.check();
  }

  @Test
  void aLogThatIsRetainedStaysThoughItsValuesAreMoved() {
    store.retainedBytes = 1 << 20;
    store.openAt(new CrashableStorage());
    fill();
    store.engine.flush();
    assertEquals(1, filesInOrder());
    assertEquals(1, filesAsWritten());
    ChangeReader feed = store.engine.changes().open(0);
    for (int i = 0; i < KEYS; i++) {
      assertNotNull(feed.poll(each -> each), "change " + i);
    }
    feed.close();
    store.check();
  }

  @Test
  void aFeedFromBeforeTheFlushIsToldThatItsChangesAreLost() {
    fill();
    store.engine.flush();
    assertThrows(ChangesLostException.class, () -> store.engine.changes().open(0));
  }

  @Test
  void nothingIsRewrittenWithoutWrites() {
    for (int i = 0; i < 5; i++) {
      fill();
      store.engine.flush();
    }
    store.engine.compact();
    StoreStats before = store.engine.stats();
    for (int i = 0; i < QUIET_TICKS; i++) {
      store.scheduler.tick();
      store.scheduler.runAll();
    }
    assertEquals(0, store.engine.stats().reclaim().filesRewritten());
    assertEquals(before.logBytesWritten(), store.engine.stats().logBytesWritten());
    store.check();
  }

  /** What memtables cover is out of order, and a scan wants it in memory. */
  @Test
  void memtablesOfAStoreThatDoesNotFitCoverLess() {
    fill();
    store.engine.flush();
    for (int i = 0; i < 4; i++) {
      fill();
    }
    store.scheduler.runAll();
    assertEquals(2, store.engine.stats().flushes());
    store.check();
  }

  @Test
  void whatIsWrittenTwiceIsCountedTwice() throws IOException {
    fill();
    long logBytes = store.engine.stats().logBytesWritten();
    store.engine.flush();
    long moved = store.engine.stats().logBytesWritten() - logBytes;
    assertEquals(moved, store.engine.stats().logBytes());
    assertEquals(moved, store.storage.contents("000002.vlog").length);
    long live = store.engine.stats().logLiveBytes();
    assertTrue(live > 0.9 * moved && live < moved, live + " of " + moved);
  }
}
