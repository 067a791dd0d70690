package io.kvsep.internal.background;

import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.compaction.BadInput;
import io.kvsep.internal.compaction.CompactionConfig;
import io.kvsep.internal.compaction.CompactionJob;
import io.kvsep.internal.compaction.CompactionPicker;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.FlushJob;
import io.kvsep.internal.compaction.IdleCompactionPicker;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.compaction.LoadPlacement;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.compaction.PointerTargets;
import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.jfr.CompactionEvent;
import io.kvsep.internal.jfr.FlightEvents;
import io.kvsep.internal.jfr.FlushEvent;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.view.SnapshotRegistry;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Schedules flushes and compactions, and installs their results.
 *
 * <p>A failed job leaves its inputs in place. Waiting writers get its error; requests and the timer
 * retry it. A damaged or unreadable table is quarantined until the store is reopened.
 *
 * <p>Thread safe. Flushes run one at a time, oldest memtable first; compactions run beside them and
 * each other, on disjoint tables.
 */
public final class CompactionScheduler {
  private static final int TICKS_BETWEEN_TRIES_MAX = 32;

  private static final long NEVER = -1;

  /** The time of a shorter flush says little about the next one. */
  private static final long FLUSH_BYTES_MIN = 1 << 20;

  /** A guess: the code of the first flush of a process is not compiled yet. */
  private static final double FIRST_FLUSH_NANOS_PER_BYTE = 20;

  private final EngineConfig config;
  private final CurrentReadState currentState;
  private final VersionSet versions;
  private final FlushLog flushLog;
  private final SnapshotRegistry snapshots;
  private final FailureState failure;
  private final MemoryLedger ledger;
  private final DeadSegments deadSegments;
  private final PointerTargets pointerTargets;
  private final FlushReordering flushReordering;
  private final CompactionConfig compaction;

  private final CompactionPicker picker;
  private final IdleCompactionPicker idlePicker;
  private final FileQuarantine quarantine = new FileQuarantine();

  private final AtomicBoolean flushScheduled = new AtomicBoolean();

  private final ReentrantLock flushLock = new ReentrantLock();

  private volatile @Nullable Throwable flushError;
  private volatile @Nullable Throwable compactionError;

  /** Why the last choice of a compaction failed. */
  private volatile @Nullable Throwable choiceError;

  private volatile boolean cancelled;

  private final RunningCompactions running;
  private final DeadFiles deadFiles;

  /** Last sequence when the store was quiet. A later write ends idle compaction. */
  private volatile long quietSequence = NEVER;

  /** Sequence when an idle compaction failed; the next write allows a retry. */
  private volatile long idleFailedAt = NEVER;

  private final RetryBackoff retryTicks = new RetryBackoff(TICKS_BETWEEN_TRIES_MAX);

  private final AtomicLong flushes = new AtomicLong();
  private final AtomicLong compactions = new AtomicLong();
  private final AtomicLong tableBytesWritten = new AtomicLong();

  private volatile double flushNanosPerByte = FIRST_FLUSH_NANOS_PER_BYTE;

  public CompactionScheduler(
      EngineConfig config,
      CurrentReadState currentState,
      VersionSet versions,
      FlushLog flushLog,
      SnapshotRegistry snapshots,
      FailureState failure,
      MemoryLedger ledger,
      PointerTargets pointerTargets,
      FlushReordering flushReordering) {
    this.pointerTargets = pointerTargets;
    this.flushReordering = flushReordering;
    this.config = config;
    this.compaction = CompactionConfig.of(config.shape(), versions.storeId());
    this.picker = new CompactionPicker(compaction);
    this.idlePicker = new IdleCompactionPicker(picker);
    this.currentState = currentState;
    this.versions = versions;
    this.flushLog = flushLog;
    this.snapshots = snapshots;
    this.failure = failure;
    this.ledger = ledger;
    this.running = new RunningCompactions(currentState);
    this.deadSegments =
        new DeadSegments(versions, currentState, failure, config.reclaim().goal().retainedBytes());
    this.deadFiles =
        new DeadFiles(
            versions, currentState, snapshots, failure, running, quarantine, deadSegments);
  }

  public DeadSegments deadSegments() {
    return deadSegments;
  }

  public FileQuarantine quarantine() {
    return quarantine;
  }

  /** Schedules a flush of the sealed memtables. Without a thread it counts as failed. */
  public void flushNeeded() {
    if (currentState.get().memtables.size() > 1 && flushScheduled.compareAndSet(false, true)) {
      Throwable refused = config.scheduler().tryExecute(Scheduler.Lane.FLUSH, this::flushWaiting);
      if (refused != null) {
        // In this order: once the flag is clear, another flush may succeed.
        flushError = refused;
        flushScheduled.set(false);
        currentState.signal();
      }
    }
  }

  /**
   * Starts all compactions that are due and may run. A failed choice or a missing thread counts as
   * a failed compaction, not as a failure of the caller.
   */
  public void compactionNeeded() {
    if (cancelled || failure.hasFailed()) {
      return;
    }
    try {
      boolean more = true;
      while (more) {
        more = startCompaction();
      }
      choiceError = null;
    } catch (RuntimeException | Error e) {
      PageFaults.throwOther(e);
      choiceError = e;
    }
  }

  /** Returns whether one was started, so that another may follow. */
  private boolean startCompaction() {
    Start start = new Start(config.clock().millis());
    CompactionPlan plan = running.take(config.scheduler().compactionsMax(), start::choose);
    if (plan == null) {
      return false;
    }
    Throwable refused = config.scheduler().tryExecute(Scheduler.Lane.COMPACTION, start);
    if (refused != null) {
      failed(refused, start.forReads);
      running.release(plan);
    }
    return refused == null;
  }

  private final class Start implements Runnable {
    private final long nowMillis;
    private @Nullable CompactionPlan plan;
    private boolean forReads;

    Start(long nowMillis) {
      this.nowMillis = nowMillis;
    }

    @Nullable CompactionPlan choose(Set<TableFile> busy) {
      Version version = versions.current();
      Set<TableFile> blocked = quarantine.tablesIn(version);
      boolean nothingRuns = busy.isEmpty();
      busy.addAll(blocked);
      blocked.addAll(running.askedTables(plan -> picker.isLong(plan.tables())));
      plan = picker.pick(version, busy, blocked, nowMillis, snapshots.oldest());
      forReads = plan == null;
      if (forReads) {
        if (nothingRuns) {
          // Nothing is due, so no writer waits for what has failed.
          compactionError = null;
        }
        plan = isQuiet() ? idlePicker.pick(version, busy) : null;
      }
      return plan;
    }

    @Override
    public void run() {
      if (plan != null) {
        runAndRelease(plan, forReads);
      }
    }
  }

  private boolean isQuiet() {
    long sequence = snapshots.visibleSequence();
    return sequence == quietSequence && sequence != idleFailedAt;
  }

  /** The problem of a quarantined table if one blocks level 0, else null. */
  public @Nullable KvException levelZeroProblem() {
    Version version = versions.current();
    Set<TableFile> bad = quarantine.tablesIn(version);
    boolean isBlocked =
        version.tables(0).length > 0
            && picker.pickStep(version, 0, Long.MAX_VALUE, bad, bad) == null;
    return isBlocked ? quarantine.foundIn(version) : null;
  }

  /**
   * Retries failed jobs and starts idle compactions. Called by the timer.
   *
   * @param quiet whether nothing was written for a while
   */
  public void tick(boolean quiet) {
    if (!currentState.isOpen() || cancelled) {
      return;
    }
    quietSequence = quiet ? snapshots.visibleSequence() : NEVER;
    if (!retryTicks.isDue(
        flushError != null || compactionError() != null || deadFiles.hasFailed())) {
      return;
    }
    flushNeeded();
    deadFiles.tick();
    compactionNeeded();
  }

  /** Estimated log bytes that tables point to although tables above replace them. */
  public double hiddenInLog(Version version) {
    return picker.hiddenInLog(version, snapshots.oldest());
  }

  /** Throws if the store has failed and runs no more jobs. */
  public void check() {
    failure.check();
    config.scheduler().hurry();
  }

  /** Null if the last flush succeeded. */
  public @Nullable Throwable flushError() {
    return flushError;
  }

  public @Nullable Throwable compactionError() {
    Throwable choice = choiceError;
    return choice == null ? compactionError : choice;
  }

  public long flushes() {
    return flushes.get();
  }

  public long compactions() {
    return compactions.get();
  }

  /** What the last flush took per byte that its memtable allocated. */
  public double flushNanosPerByte() {
    return flushNanosPerByte;
  }

  /** By flushes and compactions. */
  public long tableBytesWritten() {
    return tableBytesWritten.get();
  }

  /** See {@link FlushReordering#inlineValueBytesMax}. */
  public int inlineValueBytesMax() {
    return flushReordering.inlineValueBytesMax();
  }

  /** See {@link FlushReordering#coveredBytesMax}. */
  public long coveredBytesMax(Version version) {
    return flushReordering.coveredBytesMax(version);
  }

  /** Bytes of blob files written by flushes and compactions. */
  public long valueBytesWritten() {
    return flushReordering.bytesWritten();
  }

  public void cancel() {
    cancelled = true;
  }

  /** Flushes the memtables that are sealed now, on the calling thread. */
  public void flushWaitingNow() {
    currentState.prepareFlushes();
    flushLock.lock();
    try {
      List<ReadState.SharedMemtable> waiting = currentState.get().memtables;
      // Not those filled meanwhile, or this might never end.
      while (waiting.size() > 1 && currentState.get().memtables.contains(waiting.get(1))) {
        flushOldest();
      }
      flushError = null;
    } catch (IOException e) {
      throw new StorageException("cannot write a memtable out", e);
    } finally {
      flushLock.unlock();
    }
    compactionNeeded();
  }

  /**
   * Runs a {@link FullCompaction} on the calling thread.
   *
   * @return the problem of a table that had to be left in place, null if there is none
   */
  public @Nullable KvException compactAll() {
    full().run(snapshots.visibleSequence(), config.clock().millis());
    return quarantine.foundIn(versions.current());
  }

  /**
   * The context in which a bulk load writes its tables.
   *
   * @param owned receives each table's name before the file is created
   * @param pulse called now and then; may throw to give up
   */
  public JobContext loadContext(Consumer<String> owned, Runnable pulse) {
    return new JobContext(
        config.storage(),
        ledger,
        compaction,
        () -> {
          long number = versions.newFileNumber();
          owned.accept(StoreFiles.table(number));
          return number;
        },
        new long[] {Limits.SEQUENCE_MAX},
        config.clock().millis(),
        PointerRefresh.NONE,
        () -> {
          pulse.run();
          return false;
        });
  }

  /**
   * Installs an edit with tables newer than all others, each as low as it fits. The caller keeps
   * writers out; all memtables are flushed.
   */
  public void addNewest(List<TableMeta> tables, VersionEdit edit) {
    running.beside(
        plans -> {
          Version version = versions.current();
          for (TableMeta table : tables) {
            edit.addTable(LoadPlacement.level(version, plans, table), table);
          }
          failure.guard(() -> versions.apply(edit));
        });
    currentState.installVersion(null);
  }

  /** Rewrites tables of the last level whose values have moved. */
  public void refreshPointers() {
    full().rewriteLastLevel(pointerTargets.withMovedValues(versions.current()));
  }

  public void compactLevelZero() {
    full().compactLevel(0, snapshots.visibleSequence());
  }

  private FullCompaction full() {
    return new FullCompaction(versions, currentState, picker, quarantine, running, this::runAsked);
  }

  /** Flushes one sealed memtable and schedules the next; {@link #flushError} has the result. */
  public void flushWaiting() {
    flushLock.lock();
    try {
      flushScheduled.set(false);
      if (!cancelled && currentState.isOpen() && currentState.get().memtables.size() > 1) {
        flushOldest();
        flushError = null;
        flushNeeded();
      }
    } catch (CancellationException e) {
      // The store is closing; the memtable is still in the log.
      return;
    } catch (IOException | RuntimeException | Error e) {
      PageFaults.throwOther(e);
      flushError = e;
    } finally {
      flushLock.unlock();
      if (currentState.isOpen()) {
        currentState.signal();
      }
    }
    compactionNeeded();
  }

  private void flushOldest() throws IOException {
    failure.check();
    long start = config.ticker().nanos();
    FlushEvent event = FlightEvents.beginFlush();
    List<ReadState.SharedMemtable> memtables = currentState.get().memtables;
    Memtable oldest = memtables.get(memtables.size() - 1).memtable;
    LogPosition next = memtables.get(memtables.size() - 2).memtable.logStart();
    // Now, because the memtable is freed once its table is installed.
    long memtableBytes = oldest.allocatedBytes();
    if (event != null) {
      event.entries = oldest.entryCount();
      event.memtableBytes = memtableBytes;
    }
    // Read before the sync, which covers it: the manifest must not hold a sequence number that a
    // power failure takes back.
    long lastSequence = snapshots.visibleSequence();
    // The table points into the log, so those bytes must be durable before the table is complete.
    // To StoreOpener.checkLog a complete table beyond the log is one whose edit was lost.
    flushLog.sync();
    long bytes = 0;
    try (FlushReordering.Output output =
        flushReordering.run(oldest, pointers -> write(oldest, pointers))) {
      VersionEdit edit = new VersionEdit().replayFrom(next).syncedLog(flushLog.durable());
      for (TableMeta table : output.tables()) {
        edit.addTable(0, table);
        lastSequence = Math.max(lastSequence, table.largestSequence());
        bytes += table.fileBytes();
      }
      tableBytesWritten.addAndGet(bytes);
      edit.lastSequence(lastSequence);
      output.addValues(edit);
      flushLog.applySealing(edit);
      output.installed();
    }
    currentState.installVersion(oldest);
    flushNanosPerByte =
        (config.ticker().nanos() - start) / (double) Math.max(FLUSH_BYTES_MIN, memtableBytes);
    flushes.incrementAndGet();
    JobEvents.record(event, config.storage().location(), bytes);
    deadFiles.run();
  }

  private List<TableMeta> write(Memtable memtable, PointerRefresh pointers) throws IOException {
    JobContext context = context(pointers);
    return FlushJob.run(
        context, memtable.iterator(), memtable.ranges().fragments(context.boundaries()));
  }

  /** For the background; {@link #compactionError} reports the result. */
  private void runAndRelease(CompactionPlan plan, boolean forReads) {
    try {
      runOrQuarantine(plan);
      if (!forReads) {
        compactionError = null;
      }
    } catch (CancellationException e) {
      // The store is closing; nothing was changed.
      return;
    } catch (IOException | RuntimeException | Error e) {
      PageFaults.throwOther(e);
      failed(e, forReads);
      return;
    } finally {
      running.release(plan);
    }
    compactionNeeded();
  }

  private boolean runAsked(CompactionPlan plan) {
    try {
      return runOrQuarantine(plan);
    } catch (IOException e) {
      throw new StorageException("cannot compact", e);
    } finally {
      running.release(plan);
      // What is due goes before the next step.
      compactionNeeded();
    }
  }

  /** Returns false if a table of the plan could not be read; others go on without it. */
  private boolean runOrQuarantine(CompactionPlan plan) throws IOException {
    try {
      run(plan);
      return true;
    } catch (RuntimeException | InternalError e) {
      if (!quarantines(plan, e)) {
        throw e;
      }
      return false;
    }
  }

  /** Quarantines the table that made a plan fail; returns whether there is one. */
  private boolean quarantines(CompactionPlan plan, Throwable error) {
    if (quarantine.addDamaged(error, plan::holds)) {
      return true;
    }
    boolean isForeign =
        error instanceof StoreFailedException || error instanceof CancellationException;
    BadInput bad =
        isForeign || plan.move() ? null : BadInput.find(context(PointerRefresh.NONE), plan, error);
    if (bad != null) {
      quarantine.add(bad.file(), bad.problem());
    }
    return bad != null;
  }

  private void failed(Throwable cause, boolean forReads) {
    if (forReads) {
      // Nothing waits for it, so the error is not reported.
      idleFailedAt = snapshots.visibleSequence();
    } else {
      compactionError = cause;
    }
  }

  /**
   * Retains no version, which would also keep log segments: busy tables stay in every version until
   * the result is installed.
   */
  private void run(CompactionPlan plan) throws IOException {
    failure.check();
    CompactionEvent event = FlightEvents.beginCompaction();
    VersionEdit edit;
    // The tables stay busy, so their values stay live and in the same files.
    try (PointerTargets.Pins pins = pointerTargets.pin(plan);
        ValueSeparation values = flushReordering.separation(plan, pins.pointers())) {
      edit = CompactionJob.run(context(values == null ? pins.pointers() : values), plan);
      if (values != null) {
        values.addTo(edit);
      }
      failure.guard(() -> versions.apply(edit));
      if (values != null) {
        values.installed();
      }
    }
    if (!plan.move()) {
      edit.addedTables().forEach(added -> tableBytesWritten.addAndGet(added.meta().fileBytes()));
    }
    currentState.installVersion(null);
    // Whichever caller asked, compaction works again.
    compactionError = null;
    compactions.incrementAndGet();
    JobEvents.record(event, config.storage().location(), plan, edit);
    deadFiles.run();
  }

  private JobContext context(PointerRefresh pointers) {
    return new JobContext(
        config.storage(),
        ledger,
        compaction,
        versions::newFileNumber,
        snapshots.boundaries(),
        config.clock().millis(),
        pointers,
        () -> cancelled);
  }
}
