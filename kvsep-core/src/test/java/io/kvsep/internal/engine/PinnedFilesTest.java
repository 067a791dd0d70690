package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.StoreStats;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** What open cursors and snapshots keep, and that the figures tell it. */
final class PinnedFilesTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final StoreStats.Pinned NOTHING = new StoreStats.Pinned(0, 0, 0, 0, 0);
  private static final int KEYS = 40;

  private final CrashableStorage storage = new CrashableStorage();
  private final AtomicLong nanos = new AtomicLong(5_000);

  private StorageEngine open(long seed) {
    EngineConfig base =
        Engines.config(
            storage,
            CommitSync.ON_DEMAND,
            new ManualClock(1_000),
            new Random(seed),
            new ManualScheduler(seed, 2));
    return StorageEngine.open(ConfigDraft.of(base).ticker(nanos::get).build());
  }

  private static void putAll(StorageEngine engine, int round) {
    byte[] value = new byte[600];
    for (int i = 0; i < KEYS; i++) {
      new Random(31L * round + i).nextBytes(value);
      engine.writes().put(0, ("key-" + i).getBytes(UTF_8), value, 0);
    }
  }

  private static SnapshotCursor cursor(StorageEngine engine) {
    return engine.reads().cursor(ALL, StoreReads.LATEST);
  }

  @Test
  void aCursorKeepsTheTablesAndSegmentsThatWereReplaced() throws IOException {
    StorageEngine engine = open(1);
    putAll(engine, 0);
    engine.compact();
    assertEquals(NOTHING, engine.stats().pinned());
    StoreStats before = engine.stats();
    SnapshotCursor cursor = cursor(engine);
    assertEquals(NOTHING, engine.stats().pinned(), "everything is in force still");

    putAll(engine, 1);
    engine.compact();

    StoreStats after = engine.stats();
    assertEquals(Arrays.stream(Engines.levelTables(before)).sum(), after.pinned().tables());
    assertEquals(before.tableBytes(), after.pinned().tableBytes());
    assertTrue(after.pinned().segments() > 0);
    assertTrue(after.pinned().logBytes() > 0);
    checkFiles(after);

    cursor.close();
    assertEquals(NOTHING, engine.stats().pinned());
    checkFiles(engine.stats());
    engine.close();
  }

  @Test
  void aCursorKeepsTheMemtableThatWasFlushed() {
    StorageEngine engine = open(2);
    engine.writes().put(0, "key".getBytes(UTF_8), new byte[10], 0);
    SnapshotCursor cursor = cursor(engine);
    SnapshotCursor second = cursor(engine);

    engine.flush();

    long pinned = engine.stats().pinned().memtableBytes();
    assertTrue(pinned >= Engines.TINY.memtables().bytes());
    long memtables = engine.stats().memoryBytes().getOrDefault("memtable", 0L);
    assertTrue(memtables >= pinned && memtables < 2 * pinned, () -> "one more in " + memtables);
    cursor.close();
    assertEquals(pinned, engine.stats().pinned().memtableBytes());
    second.close();
    assertEquals(0, engine.stats().pinned().memtableBytes());
    engine.close();
  }

  @Test
  void aReadThatIsUnderWayKeepsFilesToo() {
    StorageEngine engine = open(3);
    putAll(engine, 0);
    engine.compact();
    Epochs<ReadContext> epochs = engine.reads().epochs();
    EpochSlot<ReadContext> slot = epochs.enter();
    putAll(engine, 1);
    engine.compact();
    StoreStats.Pinned inside = engine.stats().pinned();
    epochs.exit(slot);

    assertTrue(inside.tables() > 0);
    assertTrue(inside.segments() > 0);
    assertTrue(inside.memtableBytes() > 0);
    putAll(engine, 2);
    engine.compact();
    assertEquals(NOTHING, engine.stats().pinned());
    engine.close();
  }

  @Test
  void aSnapshotKeepsNoFileButTheVersionsItSees() {
    StorageEngine engine = open(4);
    putAll(engine, 0);
    engine.compact();
    long live = engine.stats().logLiveBytes();
    SnapshotLease hold = engine.reads().acquireSnapshot();
    putAll(engine, 1);
    engine.compact();

    assertEquals(NOTHING, engine.stats().pinned());
    assertTrue(engine.stats().logLiveBytes() >= 2 * live);
    engine.reads().releaseSnapshot(hold);
    putAll(engine, 2);
    engine.compact();
    assertTrue(engine.stats().logLiveBytes() < 2 * live);
    engine.close();
  }

  @Test
  void whatASnapshotKeptGoesWithItThoughNothingIsWrittenAnyMore() {
    for (boolean compacted : new boolean[] {true, false}) {
      ManualScheduler scheduler = new ManualScheduler(6, 1);
      StorageEngine engine = Engines.open(new CrashableStorage(), scheduler);
      putAll(engine, 0);
      engine.compact();
      long live = engine.stats().logLiveBytes();
      SnapshotLease hold = engine.reads().acquireSnapshot();
      putAll(engine, 1);
      engine.compact();
      assertTrue(engine.stats().logLiveBytes() >= 2 * live);

      engine.reads().releaseSnapshot(hold);
      if (compacted) {
        engine.compact();
      } else {
        scheduler.tick();
        scheduler.runAll();
      }
      assertTrue(engine.stats().logLiveBytes() < 2 * live, "compacted: " + compacted);
      engine.close();
    }
  }

  @Test
  void agesAreThoseOfTheOldest() {
    StorageEngine engine = open(5);
    assertEquals(List.of(0L, 0L), ages(engine));
    SnapshotLease first = engine.reads().acquireSnapshot();
    SnapshotCursor firstCursor = cursor(engine);
    nanos.addAndGet(100);
    SnapshotLease second = engine.reads().acquireSnapshot();
    SnapshotCursor secondCursor = cursor(engine);
    nanos.addAndGet(20);
    assertEquals(List.of(120L, 120L), ages(engine));

    // Both see the same sequence number; it is the older one that goes.
    assertEquals(first.sequence(), second.sequence());
    engine.reads().releaseSnapshot(first);
    firstCursor.close();
    assertEquals(List.of(20L, 20L), ages(engine));
    assertEquals(1, engine.stats().openSnapshots());
    engine.reads().releaseSnapshot(second);
    secondCursor.close();
    assertEquals(List.of(0L, 0L), ages(engine));
    engine.close();
  }

  @Test
  void figuresAgreeWithTheFilesWhateverHappens() {
    Seeds.each(getClass(), 30, this::runRandomly);
  }

  private void runRandomly(Random random) throws IOException {
    CrashableStorage own = new CrashableStorage();
    ManualScheduler scheduler = new ManualScheduler(random.nextLong(), 2);
    StorageEngine engine =
        StorageEngine.open(
            Engines.randomConfig(
                own, CommitSync.ON_DEMAND, new ManualClock(1_000), random, scheduler));
    List<SnapshotCursor> cursors = new ArrayList<>();
    for (int step = 0; step < 150; step++) {
      switch (random.nextInt(8)) {
        case 0 -> cursors.add(cursor(engine));
        case 1 -> {
          if (!cursors.isEmpty()) {
            cursors.remove(random.nextInt(cursors.size())).close();
          }
        }
        case 2 -> engine.flush();
        case 3 -> scheduler.runAll();
        case 4 -> engine.compact();
        default -> {
          byte[] value = new byte[random.nextInt(3_000)];
          random.nextBytes(value);
          byte[] key = ("key-" + random.nextInt(20)).getBytes(UTF_8);
          engine.writes().put(0, key, value, 0);
        }
      }
      checkFiles(engine.stats(), own);
    }
    cursors.forEach(SnapshotCursor::close);
    scheduler.runAll();
    assertEquals(NOTHING, engine.stats().pinned());
    checkFiles(engine.stats(), own);
    engine.close();
  }

  private static List<Long> ages(StorageEngine engine) {
    StoreStats stats = engine.stats();
    return List.of(stats.oldestSnapshotNanos(), stats.oldestCursorNanos());
  }

  private void checkFiles(StoreStats stats) throws IOException {
    checkFiles(stats, storage);
  }

  private static void checkFiles(StoreStats stats, CrashableStorage storage) throws IOException {
    long tableBytes = 0;
    int tables = 0;
    int segments = 0;
    for (String name : storage.list()) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE) {
        tables++;
        try (StorageFile file = storage.open(name, /* writable= */ false)) {
          tableBytes += file.length();
        }
      } else if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT) {
        segments++;
      }
    }
    assertEquals(tables, Arrays.stream(Engines.levelTables(stats)).sum() + stats.pinned().tables());
    assertEquals(tableBytes, stats.tableBytes());
    assertEquals(
        tableBytes, Arrays.stream(Engines.levelBytes(stats)).sum() + stats.pinned().tableBytes());
    assertEquals(segments, stats.logSegments());
    long memtables =
        stats.memoryBytes().getOrDefault("memtable", 0L) - stats.pinned().memtableBytes();
    assertTrue(memtables > 0, "the active one is there, if without room");
    long arenas = Engines.TINY.memtables().countMax() * Engines.TINY.memtables().bytes();
    assertTrue(memtables <= arenas + arenas / 7, () -> memtables + " bytes, indexes included");
  }
}
