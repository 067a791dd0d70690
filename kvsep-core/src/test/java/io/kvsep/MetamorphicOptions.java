package io.kvsep;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.io.Storage;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;

/**
 * Options under which a history is run, and what is done to the store meanwhile. No answer may
 * depend on any of it.
 *
 * @param backgroundInterval after so many calls what waits in the background is done; 0 for never
 * @param pause what happens at a pause
 * @param disguise what stands between the engine and the storage
 */
record MetamorphicOptions(
    String name,
    CommitSync sync,
    int inlineValueBytesMax,
    int compressionBytesMin,
    long segmentBytes,
    Shape shape,
    double spaceAmplificationMax,
    int backgroundInterval,
    Pause pause,
    UnaryOperator<Storage> disguise) {

  /** What happens to the store at a pause. */
  enum Pause {
    NOTHING,
    REOPEN,
    /** The process dies. */
    KILL,
    /** The power fails after a sync, and all that is unsynced is gone. */
    SYNC_AND_CRASH,
    /** The power fails without a sync: what a store that syncs every commit has to bear. */
    CRASH
  }

  private static final int NEVER = Integer.MAX_VALUE;
  private static final CommitSync ON_DEMAND = CommitSync.ON_DEMAND;
  private static final Shape TINY = Engines.TINY;

  /** Larger than anything in a history. */
  private static final Shape ROOMY = Shape.forBudget(6 << 20, false);

  /** The first is the plainest; the others are compared with it. */
  static final List<MetamorphicOptions> ALL =
      List.of(
          of("roomy", ON_DEMAND, 256, NEVER, 64 << 20, ROOMY, 2.0, 0, Pause.NOTHING),
          of("inline 0", ON_DEMAND, 0, NEVER, 20 << 10, TINY, 1.5, 7, Pause.SYNC_AND_CRASH),
          of("inline 1", ON_DEMAND, 1, 64, 8 << 10, TINY, 1.05, 1, Pause.REOPEN),
          of("inline 64", ON_DEMAND, 64, 128, 4 << 10, TINY, 1.3, 3, Pause.KILL),
          of("inline 300", ON_DEMAND, 300, 1, 4 << 10, TINY, 1.05, 1, Pause.SYNC_AND_CRASH),
          of("inline all", ON_DEMAND, 65_536, NEVER, 6 << 10, TINY, 1.3, 2, Pause.SYNC_AND_CRASH),
          of("inline all, roomy", ON_DEMAND, 65_536, 1, 1 << 20, ROOMY, 1.05, 5, Pause.KILL),
          of("log only, roomy", ON_DEMAND, 0, 1, 3 << 10, ROOMY, 1.05, 1, Pause.REOPEN),
          of("no background", ON_DEMAND, 64, 64, 4 << 10, TINY, 1.05, 0, Pause.KILL),
          of("no reclaim", ON_DEMAND, 64, NEVER, 4 << 10, TINY, 100, 2, Pause.REOPEN),
          of("synced", CommitSync.EVERY_COMMIT, 64, 128, 4 << 10, TINY, 1.1, 4, Pause.CRASH),
          of("synced, inline 0", CommitSync.EVERY_COMMIT, 0, 1, 9 << 10, TINY, 1.3, 1, Pause.CRASH),
          of("interval", CommitSync.INTERVAL, 1, 128, 5 << 10, TINY, 1.3, 1, Pause.SYNC_AND_CRASH));

  static MetamorphicOptions of(
      String name,
      CommitSync sync,
      int inlineValueBytesMax,
      int compressionBytesMin,
      long segmentBytes,
      Shape shape,
      double spaceAmplificationMax,
      int backgroundInterval,
      Pause pause) {
    return new MetamorphicOptions(
        name,
        sync,
        inlineValueBytesMax,
        compressionBytesMin,
        segmentBytes,
        shape,
        spaceAmplificationMax,
        backgroundInterval,
        pause,
        plain -> plain);
  }

  MetamorphicOptions with(String otherName, UnaryOperator<Storage> otherDisguise) {
    return new MetamorphicOptions(
        otherName,
        sync,
        inlineValueBytesMax,
        compressionBytesMin,
        segmentBytes,
        shape,
        spaceAmplificationMax,
        backgroundInterval,
        pause,
        otherDisguise);
  }

  EngineConfig config(Storage storage, ManualClock clock, ManualScheduler scheduler) {
    EngineConfig base = Engines.config(storage, sync, clock, new Random(7), scheduler);
    return ConfigDraft.of(base)
        .storage(disguise.apply(storage))
        .inlineValueBytesMax(inlineValueBytesMax)
        .compressionBytesMin(compressionBytesMin)
        .segmentBytes(segmentBytes)
        .shape(shape)
        .reclaim(spaceAmplificationMax, 8 << 10)
        .verifiesValues(pause != Pause.REOPEN)
        .build();
  }
}
