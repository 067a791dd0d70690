package io.kvsep.internal.background;

import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.compaction.CompactionConfig;
import io.kvsep.internal.compaction.CompactionJob;
import io.kvsep.internal.compaction.CompactionPicker;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.CorruptInput;
import io.kvsep.internal.compaction.FlushJob;
import io.kvsep.internal.compaction.IdleCompactionPicker;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.compaction.LevelZeroBypass;
import io.kvsep.internal.compaction.LoadPlacement;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.compaction.PointerTargets;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.jfr.CompactionEvent;
import io.kvsep.internal.jfr.FlightEvents;
import io.kvsep.internal.jfr.FlushEvent;
import io.kvsep.internal.memory.MemoryLedger;
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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Flushes and compactions: when they run, and what becomes of their results. A failed job leaves
 * its inputs in place; its error is kept for writers that have to wait for it, and it is tried
 * again when asked and at every tick. A table in which a compaction found damage is spared from
 * then on, one that the device does not give for a while, and nobody waits for it.
 *
 * <p>Thread safe. Flushes run one at a time in the order of the memtables; compactions run beside
 * them and beside each other, on tables of their own.
 */
public final class CompactionScheduler {
  private static final int TICKS_BETWEEN_TRIES_MAX = 32;

  private final EngineConfig config;
  private final CurrentReadState live;
  private final VersionSet versions;
  private final FlushLog log;
  private final SnapshotRegistry snapshots;
  private final FailureState failure;
  private final MemoryLedger ledger;
  private final DeadSegments deadSegments;
  private final PointerTargets pointerTargets;
  private final FlushOrdering flushOrdering;
  private final CompactionConfig compaction;

  /** For compactions that have time, of tables that are likely to stay. */
  private final CompactionConfig unhurried;

  private final CompactionPicker picker;
  private final FileQuarantine spared = new FileQuarantine();
  private final QuarantinedTables unreadable;
  private final IdleCompaction settling;

  private final AtomicBoolean flushScheduled = new AtomicBoolean();

  /** Made once: there may be no memory for it when it is scheduled already. */
  private final Runnable flushJob = this::flushWaiting;

  private final NonAllocatingLock flushLock = new NonAllocatingLock();

  private volatile @Nullable Throwable flushError;
  private volatile @Nullable Throwable compactionError;

  /** Why no compaction could be chosen the last time. */
  private volatile @Nullable Throwable choiceError;

  private volatile boolean cancelled;

  private final RunningCompactions running;
  private final FileDropper dropping;

  /** Where a damaged table is in the way of level 0: as long as it is in force, nothing changes. */
  private volatile @Nullable Version stuck;

  private final RetryBackoff retryTicks = new RetryBackoff(TICKS_BETWEEN_TRIES_MAX);

  private final AtomicLong flushes = new AtomicLong();
  private final AtomicLong compactions = new AtomicLong();
  private final AtomicLong tableBytesWritten = new AtomicLong();

  public CompactionScheduler(
      EngineConfig config,
      CurrentReadState live,
      VersionSet versions,
      FlushLog log,
      SnapshotRegistry snapshots,
      FailureState failure,
      MemoryLedger ledger,
      PointerTargets pointerTargets,
      FlushOrdering flushOrdering) {
    this.pointerTargets = pointerTargets;
    this.flushOrdering = flushOrdering;
    this.config = config;
    this.compaction = CompactionConfig.of(config.shape(), versions.storeId());
    this.unhurried = compaction.inPieces(config.shape().pieceBytes());
    this.picker = new CompactionPicker(compaction);
    this.live = live;
    this.versions = versions;
    this.log = log;
    this.snapshots = snapshots;
    this.settling =
        new IdleCompaction(
            new IdleCompactionPicker(picker, compaction), snapshots, pointerTargets::pickDetour);
    this.failure = failure;
    this.ledger = ledger;
    this.running = new RunningCompactions(live);
    this.deadSegments =
        new DeadSegments(versions, live, failure, config.reclaim().goal().retainedBytes());
    this.unreadable =
        new QuarantinedTables(
            spared,
            versions,
            running,
            config.scheduler(),
            () -> context(PointerRefresh.NONE, compaction),
            this::compactionNeeded);
    this.dropping =
        new FileDropper(versions, live, snapshots, failure, running, spared, deadSegments);
  }

  public DeadSegments deadSegments() {
    return deadSegments;
  }

  /** What is left alone, by reclaim too. */
  public FileQuarantine sparedFiles() {
    return spared;
  }

  /** Writes out what is waiting, soon. That there is no thread for it is a flush that failed. */
  public void flushNeeded() {
    if (live.get().memtables.size() > 1 && flushScheduled.compareAndSet(false, true)) {
      Throwable refused = config.scheduler().tryExecute(Scheduler.Lane.FLUSH, flushJob);
      if (refused != null) {
        // In this order: whoever schedules the next flush must not have its success overwritten.
        flushError = refused;
        flushScheduled.set(false);
        live.signal();
      }
    }
  }

  /**
   * Starts whatever compactions are due and may run. That there is no thread for one, or that none
   * could be chosen, is a compaction that failed: whoever calls has work of his own, such as a
   * write, which does not fail with it.
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
      choiceError = e;
    }
  }

  /** Starts one if one is due and may run; whether there may be another one. */
  private boolean startCompaction() {
    // Made before tables are taken, which nobody would give back if there were no memory for it.
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

  /** A compaction from when it is chosen. */
  private final class Start implements Runnable {
    private final long nowMillis;
    private @Nullable CompactionPlan plan;
    private boolean forReads;

    Start(long nowMillis) {
      this.nowMillis = nowMillis;
    }

    @Nullable CompactionPlan choose(Set<TableFile> busy) {
      Version version = versions.current();
      Set<TableFile> damaged = spared.tablesIn(version);
      Set<TableFile> untouchable = union(busy, damaged);
      CompactionPlan whole = running.pausersPlan();
      CompactionPicker picks = whole == null ? picker : picker.beside(whole);
      long oldest = snapshots.oldest();
      plan = LevelZeroBypass.pick(picks, compaction, version, busy, damaged, nowMillis, oldest);
      forReads = plan == null && whole == null;
      if (forReads) {
        if (busy.isEmpty()) {
          // Nothing is due that could be waited for: neither is what has failed.
          compactionError = null;
        }
        plan = settling.pick(version, untouchable, damaged);
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

  private static Set<TableFile> union(Set<TableFile> busy, Set<TableFile> damaged) {
    if (damaged.isEmpty()) {
      return busy;
    }
    Set<TableFile> all = new HashSet<>(busy);
    all.addAll(damaged);
    return all;
  }

  /** Whether level 0 cannot get shorter because of a damaged table, so that waiting is no use. */
  public boolean isLevelZeroStuck() {
    Version version = versions.current();
    if (version == stuck) {
      return true;
    }
    if (!LevelZeroBypass.isStuck(picker, version, spared.tablesIn(version))) {
      return false;
    }
    stuck = version;
    return true;
  }

  /**
   * Looks after what was left over, called at intervals.
   *
   * @param quiet whether nothing was written for a while
   * @param reclaimAtRest whether reclaim has nothing to do
   * @param filesRewritten by reclaim so far
   */
  public void tick(boolean quiet, boolean reclaimAtRest, long filesRewritten) {
    if (!live.isOpen() || cancelled) {
      return;
    }
    settling.tick(quiet, reclaimAtRest, filesRewritten);
    unreadable.tick();
    if (!retryTicks.isDue(
        flushError != null || compactionError() != null || dropping.hasFailed())) {
      return;
    }
    flushNeeded();
    dropping.tick();
    picker.lookAgain();
    compactionNeeded();
  }

  /** Bytes of the log that tables need, though what replaces them is in tables above: a guess. */
  public double hiddenInLog(Version version) {
    return picker.hiddenInLog(version, snapshots.oldest());
  }

  /** Throws when nothing that a writer could wait for will happen any more. */
  public void check() {
    failure.check();
  }

  /** What the last flush failed with, null when it succeeded. */
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

  /** By flushes and compactions. */
  public long tableBytesWritten() {
    return tableBytesWritten.get();
  }

  /** Log bytes that one memtable may cover, so that most values can be put in order. */
  public long coveredBytesMax(Version version) {
    return flushOrdering.coveredBytesMax(version);
  }

  /** Written to files of values by flushes. */
  public long valueBytesWritten() {
    return flushOrdering.bytesWritten();
  }

  /** Makes running jobs give up and starts no more. */
  public void cancel() {
    cancelled = true;
  }

  /** Writes out the memtables that are waiting now, on the calling thread. */
  public void flushWaitingNow() {
    live.prepareFlushes();
    flushLock.lock();
    try {
      List<ReadState.SharedMemtable> waiting = live.get().memtables;
      // Not those that writers fill meanwhile, or this might never end.
      while (waiting.size() > 1 && live.get().memtables.contains(waiting.get(1))) {
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
   * Merges everything down into the last level on the calling thread, and rewrites what was there
   * so that nothing is left that nobody can see. Damaged tables stay where they are, and so does
   * what can only go down together with them.
   *
   * @return what was found in one of those that are left, null when there are none
   */
  public @Nullable KvException compactAll() {
    return compactAlone(FullCompaction::run);
  }

  /**
   * What a bulk load writes its tables by.
   *
   * @param owned is told of each table before it is made
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
   * Puts an edit in force together with tables whose entries are newer than all there are, as far
   * down as they can go. The caller keeps writers out, has had all memtables written out, and
   * {@link #keepCompacting keeps compactions going}.
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
    live.installVersion(null);
  }

  /**
   * Runs something while nobody is at work with all tables, and nobody begins to be.
   *
   * @param pulse is called while it waits for that, and may throw to give up
   */
  public void keepCompacting(Runnable pulse, Runnable action) {
    running.keepGoing(pulse);
    try {
      action.run();
    } finally {
      running.allowPause();
    }
  }

  /** Merges all of level 0 down on the calling thread. */
  public void compactLevelZero() {
    compactAlone(FullCompaction::runLevelZero);
  }

  private interface Compacting {
    void run(FullCompaction compaction) throws IOException;
  }

  private @Nullable KvException compactAlone(Compacting work) {
    running.pause();
    try {
      unreadable.lookAlone();
      work.run(
          new FullCompaction(
              versions, picker, spared, config.clock(), running, this::runUnhurried, this::spares));
      // Before others go on: nothing that was left by this is found to be readable meanwhile.
      return spared.foundIn(versions.current());
    } catch (IOException e) {
      throw new StorageException("cannot compact", e);
    } finally {
      running.resume();
    }
  }

  /** Writes out the memtables that wait; {@link #flushError} tells what became of it. */
  public void flushWaiting() {
    flushLock.lock();
    try {
      flushScheduled.set(false);
      while (!cancelled && live.isOpen() && live.get().memtables.size() > 1) {
        flushOldest();
      }
      flushError = null;
    } catch (CancellationException e) {
      // The store is closing; the memtable is still in the log.
      return;
    } catch (IOException | RuntimeException | Error e) {
      // Errors too: an unreadable page of a mapping is one, and whoever waits has to hear of it.
      flushError = e;
    } finally {
      flushLock.unlock();
      if (live.isOpen()) {
        live.signal();
      }
    }
    compactionNeeded();
  }

  private void flushOldest() throws IOException {
    failure.check();
    FlushEvent event = FlightEvents.beginFlush();
    List<ReadState.SharedMemtable> memtables = live.get().memtables;
    Memtable oldest = memtables.get(memtables.size() - 1).memtable;
    LogPosition next = memtables.get(memtables.size() - 2).memtable.logStart();
    if (event != null) {
      // Now, because the memtable is freed once its table is in force.
      event.entries = oldest.entryCount();
      event.memtableBytes = oldest.allocatedBytes();
    }
    // Before the sync, which then makes all up to it durable: a number that a power failure takes
    // back must not stand in the manifest.
    long lastSequence = snapshots.visibleSequence();
    // The table points into the log: those bytes must be as durable as the table. Before it is
    // whole: one with more than the log has would look as if its edit were lost.
    log.sync();
    long bytes = 0;
    try (FlushOrdering.Output output =
        flushOrdering.run(oldest, pointers -> write(oldest, pointers))) {
      VersionEdit edit = new VersionEdit().replayFrom(next).syncedLog(log.durable());
      for (TableMeta table : output.tables()) {
        edit.addTable(0, table);
        lastSequence = Math.max(lastSequence, table.largestSequence());
        bytes += table.fileBytes();
      }
      tableBytesWritten.addAndGet(bytes);
      edit.lastSequence(lastSequence);
      output.addValues(edit);
      log.applySealing(edit);
    }
    live.installVersion(oldest);
    flushes.incrementAndGet();
    JobEvents.record(event, config.storage().location(), bytes);
    dropping.run(/* besidePause= */ false);
  }

  private List<TableMeta> write(Memtable memtable, PointerRefresh pointers) throws IOException {
    JobContext context = context(pointers, compaction);
    return FlushJob.run(
        context, memtable.iterator(), memtable.ranges().fragments(context.boundaries()));
  }

  /**
   * Holds no version: a busy table stays in every version until this puts the result in force, and
   * a version would keep segments of the log too, which nobody here reads.
   */
  private void runAndRelease(CompactionPlan plan, boolean forReads) {
    boolean succeeded = false;
    try {
      run(plan, forReads ? unhurried : compaction);
      succeeded = true;
    } catch (CancellationException e) {
      // The store is closing; nothing was changed.
      return;
    } catch (IOException | RuntimeException | Error e) {
      // Others may go on without the damaged table; nobody has to wait for that one.
      succeeded = spares(plan, e);
      if (!succeeded) {
        failed(e, forReads);
      } else if (!forReads) {
        compactionError = null;
      }
    } finally {
      running.release(plan);
    }
    if (succeeded) {
      compactionNeeded();
    }
  }

  /** Spares a table of the plan if it is the cause, damaged or unreadable; whether one is. */
  private boolean spares(CompactionPlan plan, Throwable error) {
    return spared.spareOneOf(plan.tables(), error) || unreadable.spares(plan, error);
  }

  private void failed(Throwable cause, boolean forReads) {
    if (forReads) {
      settling.failed();
    } else {
      compactionError = cause;
    }
  }

  private void runUnhurried(CompactionPlan plan) throws IOException {
    // Whatever was due while nothing could begin.
    compactionNeeded();
    run(plan, unhurried);
  }

  private void run(CompactionPlan plan, CompactionConfig how) throws IOException {
    failure.check();
    CompactionEvent event = FlightEvents.beginCompaction();
    VersionEdit edit;
    // The tables stay busy, so what they point to stays live and the files in force.
    try (PointerTargets.Pins pins = pointerTargets.pin(plan)) {
      edit = CompactionJob.run(context(pins.pointers(), how), plan);
      failure.guard(() -> versions.apply(edit));
    } catch (IllegalArgumentException
        | IllegalStateException
        | IndexOutOfBoundsException
        | ArithmeticException e) {
      throw CorruptInput.behind(e, context(PointerRefresh.NONE, how), plan);
    }
    if (!plan.move()) {
      edit.addedTables().forEach(added -> tableBytesWritten.addAndGet(added.meta().fileBytes()));
    }
    live.installVersion(null);
    // Whoever asked for it: tables can be compacted.
    compactionError = null;
    compactions.incrementAndGet();
    JobEvents.record(event, config.storage().location(), plan, edit);
    dropping.run(/* besidePause= */ true);
  }

  private JobContext context(PointerRefresh pointers, CompactionConfig how) {
    return new JobContext(
        config.storage(),
        ledger,
        how,
        versions::newFileNumber,
        snapshots.boundaries(),
        config.clock().millis(),
        pointers,
        () -> cancelled);
  }
}
