package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.SegmentStats;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A store that may be larger than memory, what it should hold, and the memory it is told of. */
final class LargeStoreFixture implements AutoCloseable {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final long SEGMENT_BYTES = 64 << 10;

  final ManualClock clock = new ManualClock(1_000);
  final TreeMap<String, byte[]> model = new TreeMap<>();
  final Random random = new Random(1);
  private final UnaryOperator<ConfigDraft> options;

  /** From how many bytes on the store does not fit; it may change at any time. */
  long memoryBytes;

  /** From the next opening on. */
  long retainedBytes;

  /** From the next opening on. */
  long largeFromBytes = Long.MAX_VALUE;

  CrashableStorage storage = new CrashableStorage();
  ManualScheduler scheduler = new ManualScheduler(1, 2);
  StorageEngine engine;

  LargeStoreFixture(long memoryBytes, UnaryOperator<ConfigDraft> options) {
    this.memoryBytes = memoryBytes;
    this.options = options;
    this.engine = open();
  }

  private StorageEngine open() {
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, SEGMENT_BYTES).retaining(retainedBytes);
    ConfigDraft draft =
        ConfigDraft.of(
                Engines.config(storage, CommitSync.ON_DEMAND, clock, new Random(1), scheduler))
            .segmentBytes(SEGMENT_BYTES)
            .largeFromBytes(largeFromBytes)
            .reclaim(new Reclaim(goal, 0, Long.MAX_VALUE, () -> memoryBytes));
    return StorageEngine.open(options.apply(draft).build());
  }

  /** Closes the store and opens another one. */
  void openAt(CrashableStorage at) {
    close();
    openAfterFailure(at);
  }

  /** After a close that failed. */
  void openAfterFailure(CrashableStorage at) {
    storage = at;
    scheduler = new ManualScheduler(1, 2);
    engine = open();
  }

  void reopen() {
    close();
    openAfterFailure(storage.crashSyncedOnly());
  }

  void put(String key, byte[] value, long ttlMillis) {
    engine.writes().put(0, key.getBytes(UTF_8), value, ttlMillis);
    model.put(key, value);
  }

  byte @Nullable [] get(String key) {
    return engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
  }

  void check() {
    check(model, StoreReads.LATEST);
    model.forEach((key, value) -> assertArrayEquals(value, get(key), key));
    assertEquals(List.of(), engine.verify().problems());
    assertEquals(List.of(), engine.verify().unknownFiles());
  }

  SnapshotCursor cursor(SnapshotLease at) {
    return engine.reads().cursor(ALL, at);
  }

  void check(Map<String, byte[]> expected, SnapshotLease at) {
    try (SnapshotCursor cursor = cursor(at)) {
      check(expected, cursor);
    }
  }

  static void check(Map<String, byte[]> expected, SnapshotCursor cursor) {
    for (Map.Entry<String, byte[]> entry : expected.entrySet()) {
      assertTrue(cursor.next());
      assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
      assertArrayEquals(entry.getValue(), cursor.value());
    }
    assertFalse(cursor.next());
  }

  /** The store knows of each file of values. */
  void requireLogFilesListed() throws IOException {
    List<String> there =
        storage.list().stream()
            .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT)
            .sorted()
            .toList();
    assertEquals(there, engine.segments().stream().map(SegmentStats::file).toList());
  }

  @Override
  public void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }
}
