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
 * Installs a bulk load between two commits: later readers see it as the newest data, readers at an
 * earlier point do not see it.
 *
 * <p>Writers wait while the memtables are flushed (nearly all already were) and the manifest edit
 * is written. The flush is needed because readers consider memtables newer than tables. It also
 * syncs the log, so a crash cannot leave the load without something committed before it.
 * Transactions, which otherwise look for changes in memtables, must check everything again.
 *
 * <p>Thread safe; one load at a time.
 */
public final class LoadInstallation {
  /**
   * @param tables ascending and disjoint
   * @param first lowest sequence number
   * @param last highest sequence number
   */
  record Load(
      LoadCondition condition,
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
  private final CurrentReadState currentState;
  private final CommitPipeline pipeline;
  private final MemtableWriter memtables;
  private final LogWriter logWriter;
  private final LogTail logTail;
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
      CurrentReadState currentState,
      CommitPipeline pipeline,
      MemtableWriter memtables,
      LogWriter logWriter,
      LogTail logTail,
      CompactionScheduler background,
      KeyspaceCatalog keyspaces,
      Runnable flushAll) {
    this.config = config;
    this.versions = versions;
    this.segments = segments;
    this.epochs = epochs;
    this.ledger = ledger;
    this.failure = failure;
    this.currentState = currentState;
    this.pipeline = pipeline;
    this.memtables = memtables;
    this.logWriter = logWriter;
    this.logTail = logTail;
    this.background = background;
    this.keyspaces = keyspaces;
    this.flushAll = flushAll;
  }

  LoadCondition intoKeyspace(int keyspace) {
    return () -> keyspaces.requirePresent(keyspace);
  }

  /**
   * Installs a finished load.
   *
   * @param owned its files, handed over once the manifest may name them
   * @return false if writers have used the load's numbers; nothing was changed then
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
      load.condition().check();
      flushAll.run();
      lowerLevelZero(load.tables());
      boolean[] installed = new boolean[1];
      exclusively(() -> installed[0] = installAlone(load, owned));
      done = installed[0];
      return done;
    } finally {
      if (!done) {
        // After an error the load may be installed anyway.
        Set<Long> inForce = versions.current().segments().keySet();
        opened.stream().filter(file -> !inForce.contains(file.id())).forEach(this::unlist);
      }
    }
  }

  /** No write runs and no keyspace is created or dropped meanwhile. */
  void exclusively(Runnable action) {
    keyspaces.exclusively(() -> pipeline.exclusively(action));
  }

  /** Many tables in level 0 would stall writers; one level deeper they do not. */
  private void lowerLevelZero(List<TableMeta> tables) {
    Version version = versions.current();
    long high =
        tables.stream()
            .filter(table -> LoadPlacement.level(version, List.of(), table) == 0)
            .count();
    if (high > config.shape().levelZero().compactionTables() && version.tables(0).length > 0) {
      background.compactLevelZero();
    }
  }

  /** Runs without concurrent commits. */
  private boolean installAlone(Load load, LoadFiles owned) {
    failure.check();
    load.condition().check();
    if (!pipeline.isUnused(load.first())) {
      return false;
    }
    // Remains of a failed write in the log must not reappear as newer than the load.
    logTail.leaveRemains();
    memtables.sealMemtable(logEnd());
    // Also syncs the log, so a crash loses nothing committed before the load.
    background.flushWaitingNow();
    VersionEdit edit = new VersionEdit().lastSequence(load.last()).lostChange(load.last());
    load.values().forEach(file -> edit.addRelocated(file.id(), file.bytes()));
    load.condition().addTo(edit, load.last());
    apply(load, edit, owned);
    try {
      load.condition().installed();
      // Readers that see the load must not use older marks.
      currentState.forgetMarks();
      pipeline.publishInstalled(load.last(), load.userBytes());
      // Again: a transaction that began before this point does not see the load and may have used
      // the marks until now.
      currentState.forgetMarks();
    } catch (RuntimeException | Error e) {
      throw failure.fail(e);
    }
    return true;
  }

  /** Position where the log continues; without a segment the log has no end. */
  private LogPosition logEnd() {
    LogPosition end = logWriter.end();
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
      // The load may be installed without its sequence numbers being skipped.
      throw failure.fail(e);
    } finally {
      if (failed) {
        // The manifest may or may not name the files. If the next open installed the load, writes
        // made until then would be older than it, so the next write first ensures that the edit is
        // void.
        owned.handOver();
        pipeline.requireFirst(() -> failure.guard(versions::discardFailedEdit));
      }
    }
  }

  /** Withdraws a file that is not installed; no pointers into it exist. */
  private void unlist(Segment segment) {
    segments.unlist(segment.id());
    epochs.retire(segment::free);
  }
}
