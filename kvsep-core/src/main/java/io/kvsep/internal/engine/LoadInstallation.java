package io.kvsep.internal.engine;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.compaction.LoadPlacement;
import io.kvsep.internal.engine.LoadValues.ValueFile;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Puts a bulk load in force between two commits: for everybody who reads later it is the newest
 * there is, and for everybody who reads at an earlier moment it is not there.
 *
 * <p>Writers wait while memtables are written out (before that, nearly all of them already were),
 * the log is synced and one edit of the manifest is. The first is for readers, who take what a
 * memtable holds for newer than what tables hold, and for transactions, which notice that what they
 * have looked at was written out, and look at everything again. The second keeps a crash from
 * leaving the load without something that was committed before it.
 *
 * <p>Thread safe; one load at a time.
 */
final class LoadInstallation {
  /**
   * What is to be put in force.
   *
   * @param tables ascending and disjoint
   * @param first the lowest number of its entries
   * @param last the highest one
   * @param userBytes bytes of keys and values
   */
  record Load(
      int keyspace,
      List<TableMeta> tables,
      List<ValueFile> values,
      long first,
      long last,
      long userBytes) {}

  private enum Outcome {
    DONE,
    /** Writers have used the load's numbers. */
    OVERTAKEN,
    /** Somebody compacts all there is, and may be at work with any table. */
    HINDERED
  }

  private final EngineConfig config;
  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;
  private final FailureState failure;
  private final LiveView live;
  private final CommitPipeline pipeline;
  private final IndexWriter index;
  private final LogWriter log;
  private final LogAppender appender;
  private final BackgroundWork background;
  private final KeyspaceCatalog keyspaces;
  private final Runnable flushAll;
  private final AtomicLong valueBytes = new AtomicLong();

  LoadInstallation(
      EngineConfig config,
      VersionSet versions,
      SegmentDirectory segments,
      Epochs<?> epochs,
      MemoryLedger ledger,
      FailureState failure,
      LiveView live,
      CommitPipeline pipeline,
      IndexWriter index,
      LogWriter log,
      LogAppender appender,
      BackgroundWork background,
      KeyspaceCatalog keyspaces,
      Runnable flushAll) {
    this.config = config;
    this.versions = versions;
    this.segments = segments;
    this.epochs = epochs;
    this.ledger = ledger;
    this.failure = failure;
    this.live = live;
    this.pipeline = pipeline;
    this.index = index;
    this.log = log;
    this.appender = appender;
    this.background = background;
    this.keyspaces = keyspaces;
    this.flushAll = flushAll;
  }

  /** Bytes of all files of values that were put in force. */
  long valueBytesWritten() {
    return valueBytes.get();
  }

  /**
   * Puts a load in force.
   *
   * @param owned its files, which are handed over as soon as the manifest may name them
   * @return false when writers have used the load's numbers meanwhile; nothing was changed then
   */
  boolean install(Load load, LoadFiles owned) {
    List<Segment> opened = new ArrayList<>();
    boolean done = false;
    try {
      for (ValueFile file : load.values()) {
        Segment segment =
            Segment.openRelocated(
                config.storage(), versions.storeId(), file.id(), file.bytes(), epochs, ledger);
        segments.add(segment);
        opened.add(segment);
      }
      keyspaces.requirePresent(load.keyspace());
      flushAll.run();
      lowerLevelZero(load.tables());
      Outcome outcome = tryInstall(load, owned);
      while (outcome == Outcome.HINDERED) {
        live.awaitChange();
        outcome = tryInstall(load, owned);
      }
      done = outcome == Outcome.DONE;
      return done;
    } finally {
      if (!done) {
        opened.forEach(this::unlist);
      }
    }
  }

  /** Many tables in level 0 hold writers up; one level deeper they do not. */
  private void lowerLevelZero(List<TableMeta> tables) {
    Version version = versions.current();
    long high =
        tables.stream()
            .filter(table -> LoadPlacement.level(version, List.of(), table) == 0)
            .count();
    if (high > config.shape().levelZeroTables() && version.tables(0).length > 0) {
      background.compactLevelZero();
    }
  }

  private Outcome tryInstall(Load load, LoadFiles owned) {
    Outcome[] outcome = {Outcome.HINDERED};
    pipeline.exclusively(() -> outcome[0] = installAlone(load, owned));
    return outcome[0];
  }

  /** With nobody committing. */
  private Outcome installAlone(Load load, LoadFiles owned) {
    failure.check();
    keyspaces.requirePresent(load.keyspace());
    if (!pipeline.isUnused(load.first())) {
      return Outcome.OVERTAKEN;
    }
    // Also an empty one: what is in no view any more tells transactions that something happened.
    index.switchMemtable(logEnd());
    background.flushWaitingNow();
    appender.sync();
    VersionEdit edit = new VersionEdit().lastSequence(load.last()).lostChange(load.last());
    load.values().forEach(file -> edit.addRelocated(file.id(), file.bytes()));
    if (!apply(load, edit, owned)) {
      return Outcome.HINDERED;
    }
    pipeline.passOver(load.last(), load.userBytes());
    load.values().forEach(file -> valueBytes.addAndGet(file.bytes()));
    return Outcome.DONE;
  }

  /** Where the log goes on; it has no end as long as it has no segment. */
  private LogPosition logEnd() {
    LogPosition end = log.end();
    LogPosition replayFrom = versions.current().replayFrom();
    return end.compareTo(replayFrom) >= 0 ? end : replayFrom;
  }

  /** Whether it was done; not while compactions are paused. */
  private boolean apply(Load load, VersionEdit edit, LoadFiles owned) {
    boolean failed = true;
    try {
      boolean applied = background.addNewest(load.tables(), edit);
      failed = false;
      if (applied) {
        owned.handOver();
      }
      return applied;
    } catch (Error e) {
      // It may be in force without its numbers being passed over.
      throw failure.fail(e);
    } finally {
      if (failed) {
        // The manifest may name them or not. Whoever writes next would be older than the load if
        // that came into force at the next open, so first of all it is made certain that it will
        // not.
        owned.handOver();
        pipeline.firstOfAll(() -> failure.guard(versions::settle));
      }
    }
  }

  /** Takes a file back that is not in force; nobody has a pointer into it. */
  private void unlist(Segment segment) {
    segments.unlist(segment.id());
    epochs.retire(segment::free);
  }
}
