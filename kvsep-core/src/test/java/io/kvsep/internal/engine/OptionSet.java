package io.kvsep.internal.engine;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.io.Storage;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.time.Clock;
import java.util.Random;

/** Options under which stores are crashed and failed: each leads another way through the engine. */
public enum OptionSet {
  /** Short segments, long values compressed, short ones beside their keys. */
  SEPARATED(CommitSync.ON_DEMAND, 64, 128, 4 << 10, false),
  /** Every value beside its key. */
  INLINE(CommitSync.ON_DEMAND, 65_536, Integer.MAX_VALUE, 6 << 10, false),
  /** Every value in the log alone, one segment. */
  LOG_ONLY(CommitSync.ON_DEMAND, 0, Integer.MAX_VALUE, 1 << 20, false),
  /** Every value in the log, compressed where that pays. */
  COMPRESSED(CommitSync.ON_DEMAND, 0, 1, 5 << 10, false),
  /** Every commit synced before it is acknowledged, and some segments kept for who follows them. */
  SYNCED(CommitSync.EVERY_COMMIT, 64, 128, 4 << 10, false),
  /** Synced by the timer, with all background work after every step. */
  INTERVAL(CommitSync.INTERVAL, 64, 128, 4 << 10, true),
  /** Memtables of a few entries, so that the background flushes, compacts and reclaims a lot. */
  BUSY(CommitSync.ON_DEMAND, 64, Integer.MAX_VALUE, 3 << 10, true),
  /**
   * As before, with most values inline until the store is large, so that compactions move them, and
   * then too long for the memory, so that flushes order values.
   */
  ORDERED(CommitSync.ON_DEMAND, 200, 128, 3 << 10, true);

  /** As {@link Engines#TINY}, but with memtables that three or four writes fill. */
  private static final Shape BUSY_SHAPE =
      new Shape(
          new Shape.Memtables(
              /* bytes= */ 1 << 10,
              /* countMax= */ 3,
              /* logBytesMin= */ 1 << 10,
              /* logBytesMax= */ 2 << 10),
          new Shape.Log(/* spareFromBytes= */ 1 << 10, /* hiddenBytesMin= */ 256),
          Engines.TINY.commits(),
          Engines.TINY.levelZero(),
          new Shape.Tables(
              /* levelBaseBytes= */ 2 << 10,
              /* bytes= */ 1 << 10,
              /* blockBytes= */ 512,
              /* packsBlocks= */ true),
          Engines.TINY.caches(),
          Engines.TINY.loadRoom());

  private static final long LARGE_FROM_BYTES = 1 << 10;
  private static final long ORDER_FROM_BYTES = 2 << 10;

  final CommitSync sync;

  /** Whether what waits in the background is done after every step. */
  final boolean runsBackground;

  private final int inlineValueBytesMax;
  private final int compressionBytesMin;
  private final long segmentBytes;

  OptionSet(
      CommitSync sync,
      int inlineValueBytesMax,
      int compressionBytesMin,
      long segmentBytes,
      boolean runsBackground) {
    this.sync = sync;
    this.inlineValueBytesMax = inlineValueBytesMax;
    this.compressionBytesMin = compressionBytesMin;
    this.segmentBytes = segmentBytes;
    this.runsBackground = runsBackground;
  }

  public EngineConfig config(Storage storage, Clock clock, ManualScheduler scheduler) {
    EngineConfig base = Engines.config(storage, sync, clock, new Random(7), scheduler);
    EngineConfig config =
        ConfigDraft.of(base)
            .inlineValueBytesMax(inlineValueBytesMax)
            .compressionBytesMin(compressionBytesMin)
            .segmentBytes(segmentBytes)
            .shape(shape())
            .reclaim(1.2, 8 << 10)
            .build();
    return switch (this) {
      case SYNCED -> ConfigDraft.of(config).reclaim(config.reclaim().retaining(12 << 10)).build();
      case ORDERED ->
          ConfigDraft.of(config)
              .largeFromBytes(LARGE_FROM_BYTES)
              .reclaim(Engines.reclaim(config.reclaim().goal(), ORDER_FROM_BYTES))
              .build();
      default -> config;
    };
  }

  private Shape shape() {
    return switch (this) {
      case BUSY, ORDERED -> BUSY_SHAPE;
      default -> Engines.TINY;
    };
  }
}
