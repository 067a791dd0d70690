package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.SegmentStats;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.FixedMemory;
import io.kvsep.testing.ManualScheduler;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/** A store whose values may lie out of order, what it should hold, and its hands on the clock. */
public final class ScatteredStore implements AutoCloseable {
  static final int ENTRIES = 400;
  static final int VALUE_BYTES = 3_000;
  static final int SEGMENT_BYTES = 100_000;

  /** Full ones, once all entries are written. */
  static final int SEGMENTS = ENTRIES * VALUE_BYTES / SEGMENT_BYTES;

  /** Looks of the timer after which a store is quiet. */
  static final int QUIET_TICKS = 20;

  /** Between the numbers of the first keys, for others in between. */
  static final int STEP = 10;

  final CrashableStorage storage = new CrashableStorage();

  /** Lengths of the parts of mappings that were loaded. */
  final List<Integer> loads = new ArrayList<>();

  final StorageEngine engine;
  private final ManualScheduler scheduler = new ManualScheduler(3, 2);
  private final TreeMap<Integer, byte[]> model = new TreeMap<>();

  ScatteredStore(LongSupplier orderFromBytes) {
    this(orderFromBytes, FixedMemory.AMPLE);
  }

  ScatteredStore(LongSupplier orderFromBytes, FixedMemory memory) {
    engine =
        StorageEngine.open(
            ConfigDraft.of(Engines.config(new Loading(storage), scheduler))
                .compressionBytesMin(Integer.MAX_VALUE)
                .memory(memory)
                .segmentBytes(SEGMENT_BYTES)
                .shape(Engines.withUnorderedFlushes())
                .reclaim(
                    new Reclaim(
                        new ReclaimGoal(1.5, 256, SEGMENT_BYTES),
                        0,
                        Long.MAX_VALUE,
                        orderFromBytes))
                .build());
  }

  private final class Loading extends ForwardingStorage {
    Loading(Storage storage) {
      super(storage);
    }

    @Override
    public boolean load(ByteBuffer mapped) {
      loads.add(mapped.remaining());
      return super.load(mapped);
    }
  }

  static byte[] key(int n) {
    return String.format("key%05d", n).getBytes(UTF_8);
  }

  /** A value, and always the same one. */
  static byte[] value(int n, int length) {
    byte[] value = new byte[length];
    new Random(n).nextBytes(value);
    return value;
  }

  /** Writes the value of a key, anew if it was there. */
  void put(int n) {
    put(n, VALUE_BYTES);
  }

  void put(int n, int length) {
    byte[] value = value(n, length);
    engine.writes().put(0, key(n), value, 0);
    model.put(n, value);
  }

  /** Writes {@link #ENTRIES} with tables over all of them, which reclaim leaves alone. */
  void fill(boolean inOrder, int valueBytes) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < ENTRIES; i++) {
      order.add(i * STEP);
    }
    if (!inOrder) {
      Collections.shuffle(order, new Random(4));
    }
    order.forEach(n -> put(n, valueBytes));
    engine.compactTables();
    ticks(QUIET_TICKS / 2);
    assertEquals(0, rewritten(), "before it is quiet");
  }

  void fill(boolean inOrder) {
    fill(inOrder, VALUE_BYTES);
  }

  void ticks(int count) {
    for (int i = 0; i < count; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
  }

  /** More than enough for the store to become quiet and come to rest. */
  void rest() {
    ticks(2 * QUIET_TICKS);
  }

  SnapshotCursor cursor() {
    ScanBounds all = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
    return engine.reads().cursor(all, StoreReads.LATEST);
  }

  long rewritten() {
    return engine.stats().reclaim().filesRewritten();
  }

  /** Files whose values were put in order. */
  long inOrder() {
    return engine.segments().stream().filter(SegmentStats::relocated).count();
  }

  /** Bytes that tables need in files as the log wrote them. */
  long bytesAsWritten() {
    return engine.segments().stream()
        .filter(file -> !file.relocated())
        .mapToLong(SegmentStats::liveBytes)
        .sum();
  }

  void requireAll() {
    try (SnapshotCursor cursor = cursor()) {
      for (Map.Entry<Integer, byte[]> entry : model.entrySet()) {
        assertTrue(cursor.next());
        assertArrayEquals(key(entry.getKey()), cursor.key());
        assertArrayEquals(entry.getValue(), cursor.value());
      }
      assertFalse(cursor.next());
    }
  }

  /** Holds all that was written, in sound files, and closes. */
  @Override
  public void close() {
    requireAll();
    assertEquals(List.of(), engine.verify().problems());
    engine.close();
    assertEquals(0, engine.memoryBytes(), "off-heap bytes after close");
  }
}
