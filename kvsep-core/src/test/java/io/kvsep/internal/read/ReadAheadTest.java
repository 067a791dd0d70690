package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.FixedMemory;
import io.kvsep.testing.ForwardingScheduler;
import io.kvsep.testing.GatedStorage;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.RefusingScheduler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Values that are read ahead: by whom, how many at once, and that nothing but the time of a read
 * depends on it.
 */
@Timeout(60)
final class ReadAheadTest {
  private static final int ENTRIES = 200;

  /** Longer than what one read takes, and than the gaps that are read along. */
  private static final int VALUE_BYTES = 70_000;

  private final CrashableStorage disk = new CrashableStorage();
  private final GatedStorage storage = new GatedStorage(disk);

  /** Reads that the engine gave to other threads. */
  private final AtomicInteger readTasks = new AtomicInteger();

  /** Reads to hold back from the first time on that the engine asks other threads for help. */
  private volatile int holdOnceAsked;

  /** Where tasks of the read lane go instead of to threads, if anywhere. */
  private @Nullable List<Runnable> keptTasks;

  /** A thread that runs kept tasks. */
  private Thread helper = new Thread();

  private @Nullable StorageEngine engine;

  /** What stores are told that are opened from now on. */
  private FixedMemory memory = FixedMemory.NONE;

  private Shape shape = Engines.TINY;
  private final AtomicLong nanos = new AtomicLong();

  @AfterEach
  void close() {
    storage.open();
    if (engine != null) {
      engine.close();
      assertEquals(0, engine.memoryBytes(), "off-heap bytes after close");
      assertEquals(List.of(), disk.openFiles(), "open files after close");
    }
  }

  @Test
  void sixteenReadsAreOutstandingInAScan() {
    for (boolean reverse : new boolean[] {false, true}) {
      StorageEngine store = cold(threads());
      try (SnapshotCursor cursor = cursor(store, reverse, ScanBounds.ADAPTIVE)) {
        assertTrue(cursor.next());
        assertValue(cursor, reverse ? ENTRIES - 1 : 0);
        holdOnceAsked = 16;
        assertRest(cursor, reverse, 1);
      }
      assertTrue(storage.readsWaitingMost() >= 16);
      close();
    }
  }

  @Test
  void sixteenReadsAreOutstandingWhenThatIsAskedFor() {
    StorageEngine store = cold(threads());
    try (SnapshotCursor cursor = cursor(store, /* reverse= */ false, 64)) {
      holdOnceAsked = 16;
      assertRest(cursor, /* reverse= */ false, 0);
    }
    assertTrue(storage.readsWaitingMost() >= 16);
  }

  @Test
  void sixteenReadsAreOutstandingInGetAll() {
    StorageEngine store = cold(threads());
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i < ENTRIES; i++) {
      keys.add(key(i));
    }
    Collections.shuffle(keys, new Random(5));
    holdOnceAsked = 16;
    List<byte @Nullable []> values = store.reads().getAll(0, keys, StoreReads.LATEST);
    assertTrue(storage.readsWaitingMost() >= 16);
    for (int i = 0; i < ENTRIES; i++) {
      byte[] expected = value(Integer.parseInt(new String(keys.get(i), UTF_8)));
      assertArrayEquals(expected, values.get(i));
    }
  }

  @Test
  void blocksOfManyKeysAreReadByManyThreads() {
    // One table, since a table is opened by one thread.
    shape = Shape.forBudget(16 << 20, /* packsBlocks= */ false);
    StorageEngine store = open(threads());
    List<byte[]> keys = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      store.writes().put(0, key(i), new byte[] {(byte) i}, 0);
      if (i % 10 == 0) {
        keys.add(key(i));
      }
    }
    store.flush();
    storage.nothingInMemory(true);
    storage.gateShortLoads();
    holdOnceAsked = 8;
    List<byte @Nullable []> values = store.reads().getAll(0, keys, StoreReads.LATEST);
    assertTrue(storage.readsWaitingMost() >= 8);
    for (int i = 0; i < keys.size(); i++) {
      assertArrayEquals(new byte[] {(byte) (10 * i)}, values.get(i));
    }
  }

  @Test
  void getAllKeepsOrderDuplicatesAndAbsentKeys() {
    StorageEngine store = cold(threads());
    List<byte[]> keys = List.of(key(7), key(ENTRIES), key(3), key(7), "a".getBytes(UTF_8), key(0));
    List<byte @Nullable []> values = store.reads().getAll(0, keys, StoreReads.LATEST);
    assertEquals(6, values.size());
    assertArrayEquals(value(7), values.get(0));
    assertNull(values.get(1));
    assertArrayEquals(value(3), values.get(2));
    assertArrayEquals(value(7), values.get(3));
    assertNull(values.get(4));
    assertArrayEquals(value(0), values.get(5));
    assertEquals(List.of(), store.reads().getAll(0, List.of(), StoreReads.LATEST));
  }

  @Test
  void getAllOfManyGroupsKeepsOrderDuplicatesAndAbsentKeys() {
    StorageEngine store = cold(threads());
    List<Integer> wanted = new ArrayList<>();
    for (int i = 0; i < 900; i++) {
      // A third is absent.
      wanted.add(i % (ENTRIES * 3 / 2));
    }
    Collections.shuffle(wanted, new Random(6));
    List<byte[]> keys = wanted.stream().map(ReadAheadTest::key).toList();
    List<byte @Nullable []> values = store.reads().getAll(0, keys, StoreReads.LATEST);
    assertEquals(wanted.size(), values.size());
    for (int i = 0; i < wanted.size(); i++) {
      int entry = wanted.get(i);
      assertArrayEquals(entry < ENTRIES ? value(entry) : null, values.get(i));
    }
  }

  @Test
  void aStoreThatFitsIntoMemoryReadsNothingAhead() {
    memory = FixedMemory.AMPLE;
    StorageEngine store = cold(threads());
    readTasks.set(0);
    long reads = storage.reads();
    assertRest(store, ScanBounds.ADAPTIVE);
    store.reads().getAll(0, List.of(key(1), key(2), key(3)), StoreReads.LATEST);
    assertArrayEquals(value(9), store.reads().get(0, key(9), StoreReads.LATEST));
    assertEquals(reads, storage.reads());
    assertEquals(0, readTasks.get());
  }

  @Test
  void noOtherThreadReadsWhatIsInMemory() {
    StorageEngine store = cold(threads());
    storage.nothingInMemory(false);
    assertRest(store, ScanBounds.ADAPTIVE);
    store.reads().getAll(0, List.of(key(1), key(2), key(3)), StoreReads.LATEST);
    assertArrayEquals(value(9), store.reads().get(0, key(9), StoreReads.LATEST));
    assertTrue(store.reads().values().isCold());
    assertEquals(0, readTasks.get());
  }

  @Test
  void aRequestedWindowWakesNoThreadWhileValuesAreInMemory() {
    StorageEngine store = cold(threads());
    storage.nothingInMemory(false);
    readTasks.set(0);
    assertRest(store, 64);
    assertEquals(0, readTasks.get());
  }

  @Test
  void withoutAWindowEachValueIsReadWhenItIsAskedFor() {
    StorageEngine store = cold(threads());
    readTasks.set(0);
    try (SnapshotCursor cursor = cursor(store, /* reverse= */ false, 0)) {
      for (int i = 0; i < 50; i++) {
        assertTrue(cursor.next());
        long before = storage.reads();
        assertValue(cursor, i);
        assertTrue(storage.reads() - before <= 4, "reads of one value");
      }
    }
    assertEquals(0, readTasks.get());
  }

  @Test
  void aCursorThatReadsNoValuesOrJumpsAboutReadsNothingAhead() {
    StorageEngine store = cold(threads());
    readTasks.set(0);
    Random random = new Random(1);
    try (SnapshotCursor cursor = cursor(store, /* reverse= */ false, ScanBounds.ADAPTIVE)) {
      for (int i = 0; i < 100; i++) {
        int target = random.nextInt(ENTRIES);
        assertTrue(cursor.seek(key(target)));
        assertValue(cursor, target);
        assertValue(cursor, target);
      }
      long reads = storage.reads();
      assertTrue(cursor.seek(key(0)));
      while (cursor.next()) {
        assertEquals(VALUE_BYTES, cursor.valueLength());
      }
      assertEquals(reads, storage.reads());
    }
    assertEquals(0, readTasks.get());
  }

  @Test
  void nothingIsReadBeyondTheLimit() {
    StorageEngine store = cold(threads());
    long before = storage.reads();
    ScanBounds three = new ScanBounds(0, null, null, false, false, 3, 128);
    try (SnapshotCursor cursor = store.reads().cursor(three, StoreReads.LATEST)) {
      for (int i = 0; i < 3; i++) {
        assertTrue(cursor.next());
        assertValue(cursor, i);
      }
      assertFalse(cursor.next());
    }
    assertEquals(3, storage.reads() - before, "reads for three values");
    assertTrue(storage.longestLoad() < VALUE_BYTES, "each was read ahead, in a piece");
  }

  @Test
  void whatWasReadAheadLongAgoIsAskedForAgain() {
    StorageEngine store = cold(threads());
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE, 128);
    try (SnapshotCursor cursor = store.reads().cursor(all, StoreReads.LATEST)) {
      assertTrue(cursor.next());
      assertValue(cursor, 0);
      assertTrue(storage.longestLoad() < VALUE_BYTES, "read ahead, in a piece");
      nanos.addAndGet(1_000_000_000);
      assertTrue(cursor.next());
      assertValue(cursor, 1);
      assertTrue(storage.longestLoad() >= VALUE_BYTES, "asked for before it is read");
    }
  }

  @Test
  void aSchedulerThatRunsNothingDelaysNoReader() {
    StorageEngine store = cold(new ManualScheduler(3, 1));
    assertRest(store, ScanBounds.ADAPTIVE);
    assertRest(store, 64);
    assertTrue(readTasks.get() > 0);
  }

  @Test
  void aReaderWithoutAPrefetchThreadReadsAlone() {
    RefusingScheduler refusing = new RefusingScheduler(new ManualScheduler(3, 1));
    StorageEngine store = cold(refusing);
    refusing.refuse(Scheduler.Lane.READ);
    assertRest(store, ScanBounds.ADAPTIVE);
    assertRest(store, 64);
    List<byte @Nullable []> values =
        store.reads().getAll(0, List.of(key(3), key(1), key(2)), StoreReads.LATEST);
    assertArrayEquals(value(1), values.get(1));
    assertTrue(readTasks.get() > 0);
  }

  @Test
  void damageIsReportedAtItsOwnEntryOnly() throws Exception {
    StorageEngine first = cold(threads());
    first.close();
    engine = null;
    // The middle of some value: values fill nearly all of a segment.
    disk.corrupt("000002.vlog", 40_000, b -> b ^ 1);
    for (int prefetch : new int[] {0, 64, ScanBounds.ADAPTIVE}) {
      StorageEngine store = open(threads());
      int damaged = 0;
      try (SnapshotCursor cursor = cursor(store, /* reverse= */ false, prefetch)) {
        for (int i = 0; i < ENTRIES; i++) {
          assertTrue(cursor.next());
          damaged += isSound(cursor, i) ? 0 : 1;
        }
      }
      assertEquals(1, damaged);
      close();
    }
  }

  @Test
  void damagedTablesAheadAreReportedWhenTheCursorGetsThere() throws Exception {
    StorageEngine first = cold(threads());
    first.close();
    engine = null;
    String table = disk.list().stream().filter(n -> n.endsWith(".sst")).reduce((a, b) -> b).get();
    disk.corrupt(table, disk.contents(table).length / 4, b -> b ^ 1);
    int[] reached = new int[2];
    for (int run = 0; run < 2; run++) {
      StorageEngine store = open(threads());
      try (SnapshotCursor cursor = cursor(store, /* reverse= */ false, run == 0 ? 0 : 512)) {
        while (cursor.next()) {
          assertValue(cursor, reached[run]++);
        }
      } catch (CorruptionException e) {
        assertEquals(table, e.file());
      }
      close();
    }
    assertTrue(reached[0] > 0 && reached[0] < ENTRIES, reached[0] + " entries before the damage");
    assertEquals(reached[0], reached[1]);
  }

  @Test
  void closingACursorWaitsForReadsUnderWayAndDropsTheOthers() throws Exception {
    StorageEngine store = cold(threads());
    SnapshotCursor cursor = readingAhead(store);
    Thread closing = new Thread(cursor::close);
    closing.start();
    storage.open();
    closing.join();
    helper.join();
    assertThrows(StoreClosedException.class, cursor::next);
  }

  @Test
  void closingTheStoreEndsReadsUnderWay() throws Exception {
    StorageEngine store = cold(threads());
    SnapshotCursor cursor = readingAhead(store);
    Thread closing = new Thread(store::close);
    closing.start();
    storage.open();
    closing.join();
    helper.join();
    assertThrows(StoreClosedException.class, cursor::value);
    cursor.close();
  }

  @Test
  void segmentsThatGoWhileACursorReadsAheadStayReadable() {
    StorageEngine store = cold(threads());
    try (SnapshotCursor cursor = cursor(store, /* reverse= */ false, 16)) {
      for (int i = 0; i < ENTRIES; i++) {
        assertTrue(cursor.next());
        assertValue(cursor, i);
        if (i == 20) {
          fill(store, 1_000_000);
        }
      }
    }
    fill(store, 0);
    assertRest(store, ScanBounds.ADAPTIVE);
  }

  @Test
  void noThreadIsLeftAfterClose() {
    StorageEngine store = cold(threads());
    assertRest(store, 64);
    assertTrue(readTasks.get() > 0);
    close();
    engine = null;
    List<Thread> left = new ArrayList<>();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("kvsep-read")) {
        left.add(thread);
      }
    }
    // A pool counts a thread as gone a moment before it is.
    left.forEach(ReadAheadTest::join);
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** A cursor that no thread uses, for which another thread is held back in a read. */
  private SnapshotCursor readingAhead(StorageEngine store) throws Exception {
    List<Runnable> tasks = new ArrayList<>();
    keptTasks = tasks;
    SnapshotCursor cursor = cursor(store, /* reverse= */ false, 32);
    assertTrue(cursor.next());
    assertValue(cursor, 0);
    keptTasks = null;
    storage.holdUntil(Integer.MAX_VALUE);
    helper = new Thread(() -> tasks.forEach(Runnable::run));
    helper.start();
    storage.awaitWaiting(1);
    return cursor;
  }

  private static boolean isSound(SnapshotCursor cursor, int entry) {
    try {
      assertValue(cursor, entry);
      return true;
    } catch (CorruptionException e) {
      return false;
    }
  }

  private void assertRest(StorageEngine store, int prefetch) {
    try (SnapshotCursor cursor = cursor(store, /* reverse= */ false, prefetch)) {
      assertRest(cursor, /* reverse= */ false, 0);
    }
  }

  private static void assertRest(SnapshotCursor cursor, boolean reverse, int from) {
    for (int i = from; i < ENTRIES; i++) {
      assertTrue(cursor.next());
      assertValue(cursor, reverse ? ENTRIES - 1 - i : i);
    }
    assertFalse(cursor.next());
  }

  private static void assertValue(SnapshotCursor cursor, int entry) {
    assertArrayEquals(key(entry), cursor.key());
    assertArrayEquals(value(entry), cursor.value());
  }

  private static SnapshotCursor cursor(StorageEngine store, boolean reverse, int prefetch) {
    ScanBounds bounds = new ScanBounds(0, null, null, reverse, false, Long.MAX_VALUE, prefetch);
    return store.reads().cursor(bounds, StoreReads.LATEST);
  }

  /** A filled store, opened anew, that does not fit into memory. */
  private StorageEngine cold(Scheduler scheduler) {
    StorageEngine filled = open(threads());
    fill(filled, 0);
    filled.close();
    storage.nothingInMemory(true);
    return open(scheduler);
  }

  /** Writes all entries in an order that is not that of their keys. */
  private static void fill(StorageEngine store, int valueSeed) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < ENTRIES; i++) {
      order.add(i);
    }
    Collections.shuffle(order, new Random(17));
    for (int i : order) {
      store.writes().put(0, key(i), value(valueSeed + i), 0);
    }
    store.flush();
    store.compact();
  }

  private static Scheduler threads() {
    return new ThreadScheduler(2);
  }

  private StorageEngine open(Scheduler scheduler) {
    EngineConfig tiny =
        Engines.config(
            storage,
            CommitSync.ON_DEMAND,
            new ManualClock(1_000),
            new Random(9),
            new CountingScheduler(scheduler));
    StorageEngine opened =
        StorageEngine.open(
            ConfigDraft.of(tiny)
                .compressionBytesMin(Integer.MAX_VALUE)
                .segmentBytes(2 << 20)
                .memory(memory)
                .ticker(nanos::get)
                .shape(shape)
                .build());
    engine = opened;
    return opened;
  }

  private static byte[] key(int entry) {
    return String.format("%04d", entry).getBytes(UTF_8);
  }

  private static byte[] value(int entry) {
    byte[] value = new byte[VALUE_BYTES];
    Arrays.fill(value, (byte) entry);
    value[0] = (byte) (entry >> 8);
    return value;
  }

  /** Counts what is given to the read lane. */
  private final class CountingScheduler extends ForwardingScheduler {
    CountingScheduler(Scheduler scheduler) {
      super(scheduler);
    }

    @Override
    public void execute(Lane lane, Runnable task) {
      if (lane == Lane.READ) {
        readTasks.incrementAndGet();
        if (holdOnceAsked > 0) {
          storage.holdUntil(holdOnceAsked);
          holdOnceAsked = 0;
        }
        if (keptTasks != null) {
          keptTasks.add(task);
          return;
        }
      }
      super.execute(lane, task);
    }
  }
}
