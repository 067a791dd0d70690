package io.kvsep.internal.load;

import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.compaction.LoadPlacement;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.load.LoadValues.ValueFile;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.internal.write.CommitPipeline;
import io.kvsep.internal.write.KeyspaceCatalog;
import io.kvsep.internal.write.LogTail;
import io.kvsep.internal.write.MemtableWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Puts a bulk load in force between two commits: for everybody who reads later it is the newest
 * there is, and for everybody who reads at an earlier moment it is not there.
 *
 * <p>Writers wait while memtables are written out (before that, nearly all of them already were),
 * and one edit of the manifest is. The first is for readers, who take what a memtable holds for
 * newer than what tables hold. It syncs the log as well, which keeps a crash from leaving the load
 * without something that was committed before it. Transactions, which otherwise look for changes in
 * memtables, are made to look at everything once more.
 *
 * <p>Thread safe; one load at a time.
 */
public final class LoadInstallation {
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

  private final EngineConfig config;
  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;
  private final FailureState failure;
  private final CurrentReadState live;
  private final CommitPipeline pipeline;
  private final MemtableWriter index;
  private final LogWriter log;
  private final LogTail appender;
  private final CompactionScheduler background;
  private final KeyspaceCatalog keyspaces;
  private final Runnable flushAll;

  public LoadInstallation(
      EngineConfig config,
      VersionSet versions,
      SegmentDirectory segments,
      Epochs<?> epochs,
      MemoryLedger ledger,
      FailureState failure,
      CurrentReadState live,
      CommitPipeline pipeline,
      MemtableWriter index,
      LogWriter log,
      LogTail appender,
      CompactionScheduler background,
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

  /**
   * Puts a load in force.
   *
   * @param owned its files, which are handed over as soon as the manifest may name them
   * @param pulse is called while it waits, and may throw to give up
   * @return false when writers have used the load's numbers meanwhile; nothing was changed then
   */
  boolean install(Load load, LoadFiles owned, Runnable pulse) {
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
      boolean[] installed = new boolean[1];
      background.keepCompacting(
          pulse, () -> pipeline.exclusively(() -> installed[0] = installAlone(load, owned)));
      done = installed[0];
      return done;
    } finally {
      if (!done) {
        // After an error they may be in force all the same.
        Set<Long> inForce = versions.current().segments().keySet();
        opened.stream().filter(file -> !inForce.contains(file.id())).forEach(this::unlist);
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

  /** With nobody committing; false when writers have used the load's numbers. */
  private boolean installAlone(Load load, LoadFiles owned) {
    failure.check();
    keyspaces.requirePresent(load.keyspace());
    if (!pipeline.isUnused(load.first())) {
      return false;
    }
    pipeline.beforeOthers();
    // What a failed write left in the log must not come back as if it were newer than the load.
    appender.leaveRemains();
    index.switchMemtable(logEnd());
    // Syncs the log, too: a crash leaves nothing out that was committed before the load.
    background.flushWaitingNow();
    VersionEdit edit = new VersionEdit().lastSequence(load.last()).lostChange(load.last());
    load.values().forEach(file -> edit.addRelocated(file.id(), file.bytes()));
    apply(load, edit, owned);
    try {
      // A reader that sees the load must not use marks from before it.
      live.forgetMarks();
      pipeline.passOver(load.last(), load.userBytes());
      // Only now: a transaction that begins before that does not see the load, and may have looked
      // at what is there as late as that.
      live.forgetMarks();
    } catch (RuntimeException | Error e) {
      throw failure.fail(e);
    }
    return true;
  }

  /** Where the log goes on; it has no end as long as it has no segment. */
  private LogPosition logEnd() {
    LogPosition end = log.end();
    LogPosition replayFrom = versions.current().replayFrom();
    return end.compareTo(replayFrom) >= 0 ? end : replayFrom;
  }

  private void apply(Load load, VersionEdit edit, LoadFiles owned) {
    boolean failed = true;
    try {
      background.addNewest(load.tables(), edit);
      failed = false;
      owned.handOver();
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
