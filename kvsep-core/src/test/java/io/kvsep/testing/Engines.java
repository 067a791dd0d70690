package io.kvsep.testing;

import io.kvsep.StoreStats;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Host;
import io.kvsep.internal.config.EngineConfig.OpenMode;
import io.kvsep.internal.config.EngineConfig.Reclaim;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.config.EngineConfig.Shape.Caches;
import io.kvsep.internal.config.EngineConfig.Shape.Commits;
import io.kvsep.internal.config.EngineConfig.Shape.LevelZero;
import io.kvsep.internal.config.EngineConfig.Shape.Log;
import io.kvsep.internal.config.EngineConfig.Shape.Memtables;
import io.kvsep.internal.config.EngineConfig.Shape.Tables;
import io.kvsep.internal.config.EngineConfig.Sync;
import io.kvsep.internal.config.EngineConfig.Values;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Clock;
import java.util.Random;
import java.util.random.RandomGenerator;

/** Engine configurations for tests: limits so tiny that everything happens all the time. */
public final class Engines {
  private static final long MEMTABLE_BYTES = 8 << 10;

  private static final long SEGMENT_BYTES = 20 << 10;

  /** A few kilobytes a memtable, tables of a few blocks. */
  public static final Shape TINY = tiny(MEMTABLE_BYTES, /* packsBlocks= */ true);

  /** As {@link #TINY}, with blocks that can be tampered with. */
  public static final Shape UNPACKED = tiny(MEMTABLE_BYTES, /* packsBlocks= */ false);

  private Engines() {}

  /** As {@link #TINY}, with memtables of another length. */
  public static Shape withMemtables(long memtableBytes) {
    return tiny(memtableBytes, /* packsBlocks= */ true);
  }

  /** As {@link #TINY}, with flushes that leave values as they were written. */
  public static Shape withUnorderedFlushes() {
    return tiny(MEMTABLE_BYTES, 1 << 30, /* packsBlocks= */ true);
  }

  /** As {@link #TINY}, with memtables of 32 KiB of log and more; 8 KiB are worth a file. */
  public static Shape withOrderedFlushes() {
    return tiny(64 << 10, 256 << 10, /* packsBlocks= */ true);
  }

  /** For tests in which neither the clock nor chance matters, and nothing is synced unasked. */
  public static EngineConfig config(Storage storage, Scheduler scheduler) {
    return config(storage, CommitSync.ON_DEMAND, new ManualClock(1_000), new Random(1), scheduler);
  }

  /** Opens a store with {@link #config(Storage, Scheduler)}. */
  public static StorageEngine open(Storage storage, Scheduler scheduler) {
    return StorageEngine.open(config(storage, scheduler));
  }

  public static EngineConfig config(
      Storage storage, CommitSync sync, Clock clock, RandomGenerator random, Scheduler scheduler) {
    return new EngineConfig(
        storage,
        new OpenMode(false, true, false),
        new Sync(sync, /* intervalNanos= */ 1_000_000_000L),
        new Values(
            SEGMENT_BYTES,
            /* inlineBytesMax= */ 64,
            /* inlineBytesMaxIfLarge= */ 16,
            /* largeFromBytes= */ Long.MAX_VALUE,
            /* compressionBytesMin= */ 128,
            /* areVerified= */ true),
        TINY,
        usualReclaim(SEGMENT_BYTES),
        new Host(clock, () -> 0, random, scheduler, FixedMemory.AMPLE));
  }

  /** As much garbage as stores have by default. */
  static Reclaim usualReclaim(long segmentBytes) {
    return Reclaim.holding(1.5, segmentBytes);
  }

  /** As fast as it can; values stay in the order in which they were written but for what moves. */
  public static Reclaim reclaim(ReclaimGoal goal) {
    return reclaim(goal, Long.MAX_VALUE);
  }

  /** The same for a store that does not fit into memory from so many bytes on. */
  public static Reclaim reclaim(ReclaimGoal goal, long orderFromBytes) {
    return new Reclaim(
        goal,
        /* pendingBytesMax= */ 0,
        /* bytesPerSecondMin= */ Long.MAX_VALUE,
        () -> orderFromBytes);
  }

  /** A store that has given out all ids of keyspaces below {@code next}, and has no names. */
  public static CrashableStorage withKeyspaces(int next) {
    CrashableStorage storage = new CrashableStorage();
    try (VersionSet versions =
        VersionSet.create(
            storage,
            new StoreId(next, next),
            new MemoryLedger(),
            (tables, segments) -> {},
            Readers.unbounded())) {
      versions.apply(new VersionEdit().nextKeyspace(next));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return storage.crashKeepingAll();
  }

  /**
   * A variant drawn at random: inline limit, compression, segment length, garbage allowed, whether
   * it fits into memory, and from when on it is large.
   */
  public static EngineConfig randomConfig(
      Storage storage, CommitSync sync, Clock clock, Random random, Scheduler scheduler) {
    EngineConfig base = config(storage, sync, clock, random, scheduler);
    int[] inlineLimits = {0, 1, 64, 300, 65_536};
    long[] largeFromBytes = {4 << 10, 16 << 10, Long.MAX_VALUE};
    return ConfigDraft.of(base)
        .inlineValueBytesMax(inlineLimits[random.nextInt(inlineLimits.length)])
        .compressionBytesMin(random.nextBoolean() ? 64 : Integer.MAX_VALUE)
        .segmentBytes((4L << 10) << random.nextInt(4))
        .shape(tiny(MEMTABLE_BYTES, random.nextBoolean()))
        .reclaim(randomReclaim(random))
        .memory(random.nextBoolean() ? FixedMemory.NONE : FixedMemory.AMPLE)
        .largeFromBytes(largeFromBytes[random.nextInt(largeFromBytes.length)])
        .build();
  }

  private static Reclaim randomReclaim(Random random) {
    double[] amplifications = {1.05, 1.3, 2.5};
    double amplification = amplifications[random.nextInt(amplifications.length)];
    long outputBytes = (2L << 10) << random.nextInt(5);
    long[] orderFromBytes = {0, 16 << 10, Long.MAX_VALUE};
    return reclaim(
        new ReclaimGoal(amplification, 256, outputBytes),
        orderFromBytes[random.nextInt(orderFromBytes.length)]);
  }

  private static Shape tiny(long memtableBytes, boolean packsBlocks) {
    return tiny(memtableBytes, 32 << 10, packsBlocks);
  }

  private static Shape tiny(long memtableBytes, long memtableLogBytesMin, boolean packsBlocks) {
    return new Shape(
        new Memtables(
            memtableBytes, /* countMax= */ 3, memtableLogBytesMin, /* logBytesMax= */ 64 << 10),
        new Log(/* spareFromBytes= */ 2 << 10, /* hiddenBytesMin= */ 2 << 10),
        new Commits(/* bytesMax= */ 16 << 10, /* slotBytesMax= */ 1 << 10),
        new LevelZero(/* compactionTables= */ 2, /* slowdownTables= */ 4, /* stopTables= */ 8),
        new Tables(
            /* levelBaseBytes= */ 24 << 10,
            /* bytes= */ 6 << 10,
            /* blockBytes= */ 512,
            packsBlocks),
        new Caches(/* readerBytesMax= */ 8 << 10, /* blockBytesMax= */ 16 << 10),
        /* loadRoom= */ 4);
  }

  public static int[] levelTables(StoreStats stats) {
    return stats.levels().stream().mapToInt(StoreStats.Level::tables).toArray();
  }

  public static long[] levelBytes(StoreStats stats) {
    return stats.levels().stream().mapToLong(StoreStats.Level::bytes).toArray();
  }
}
