package io.kvsep.internal.reclaim;

import io.kvsep.StoreStats;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.background.ActiveSegment;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.background.DeadSegments;
import io.kvsep.internal.background.FileQuarantine;
import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.jfr.FlightEvents;
import io.kvsep.internal.jfr.ReclaimEvent;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Segment;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Rewrites value-log files: in the background while there is more garbage than allowed, and on the
 * caller's thread until hardly any is left. Runs one job at a time, on a lane of its own so that
 * compaction and reclaim do not starve each other.
 *
 * <p>A failed job leaves the victims in place. Damaged or unreadable files are quarantined until
 * the store is reopened; reclaim goes on with the others. Thread safe.
 */
public final class ReclaimScheduler {
  private static final int TICKS_BETWEEN_TRIES_MAX = 64;

  private final ReclaimContext context;
  private final EngineConfig config;
  private final VersionSet versions;
  private final FailureState failure;
  private final DeadSegments deadSegments;
  private final ActiveSegment activeSegment;
  private final ReclaimPressure pressure;
  private final ReclaimPace pace;
  private final RefreshTargets refreshTargets;
  private final ValueReordering ordering;
  private final OrderingPace orderingPace;

  private final AtomicBoolean scheduled = new AtomicBoolean();

  private final ReentrantLock jobLock = new ReentrantLock();

  private final FileQuarantine quarantine;

  private volatile @Nullable Throwable error;

  /** Version without a possible job; not searched again. */
  private volatile @Nullable Version fruitless;

  private volatile boolean cancelled;

  private final RetryBackoff retryTicks = new RetryBackoff(TICKS_BETWEEN_TRIES_MAX);

  private final AtomicLong filesRewritten = new AtomicLong();
  private final AtomicLong bytesRead = new AtomicLong();
  private final AtomicLong bytesWritten = new AtomicLong();

  public ReclaimScheduler(
      ReclaimContext context,
      CompactionScheduler background,
      ActiveSegment activeSegment,
      ReclaimPressure pressure,
      RefreshTargets refreshTargets,
      ValueReordering ordering) {
    this.context = context;
    this.config = context.config();
    this.versions = context.versions();
    this.failure = context.failure();
    this.deadSegments = background.deadSegments();
    this.quarantine = background.quarantine();
    this.activeSegment = activeSegment;
    this.pressure = pressure;
    this.pace =
        new ReclaimPace(
            config.ticker(),
            config.reclaim().bytesPerSecondMin(),
            pressure::get,
            pressure::writtenPerSecond,
            Uninterruptibles::pause);
    this.refreshTargets = refreshTargets;
    this.ordering = ordering;
    this.orderingPace =
        new OrderingPace(
            pace,
            config.ticker(),
            () -> ordering.isQuiet() && !isWaitedFor(),
            context.epochs()::isReaderInside);
  }

  /** Schedules a job if due. A refused execution counts as a failed job. */
  void needed() {
    if (cancelled || failure.hasFailed() || scheduled.get()) {
      return;
    }
    Version version = versions.current();
    boolean due = version != fruitless && picker().isDue(version);
    due |= ordering.isDue(version);
    if (!due && activeSegment.garbageBytes() < sealBytes(version)) {
      return;
    }
    schedule();
  }

  /** Returns false if there is no thread for it, which counts as a failed job. */
  private boolean schedule() {
    if (scheduled.compareAndSet(false, true)) {
      Throwable refused = config.scheduler().tryExecute(Scheduler.Lane.RECLAIM, this::runDue);
      if (refused != null) {
        error = refused;
        scheduled.set(false);
        return false;
      }
    }
    return true;
  }

  /**
   * Called at intervals; backs off after failures.
   *
   * @param quiet whether nothing was written for a while
   */
  public void tick(boolean quiet) {
    pressure.tick();
    ordering.tick(quiet);
    if (retryTicks.isDue(error != null)) {
      needed();
    }
  }

  /**
   * Rewrites all files with garbage, on the calling thread. Excludes files newer than the call,
   * because writers may create garbage as fast as it is rewritten.
   */
  public void runToEnd() {
    runToEnd(
        last ->
            runOne(
                (version, pinned) -> picker().pickAll(version, damage(pinned), last),
                Pace.UNLIMITED,
                /* readsAhead= */ () -> false));
  }

  /**
   * Rewrites all files whose values lie out of key order, on the calling thread. Excludes files
   * newer than the call.
   */
  public void orderValues() {
    runToEnd(last -> orderSome(last, Pace.UNLIMITED, () -> true));
  }

  private interface Step {
    /** Runs a job for files up to {@code last}; returns whether there was one. */
    boolean run(long last) throws IOException;
  }

  private void runToEnd(Step step) {
    jobLock.lock();
    try {
      error = null;
      SortedMap<Long, SegmentState> files = versions.current().segments();
      boolean more = !files.isEmpty();
      while (more) {
        more = step.run(files.lastKey());
      }
    } catch (IOException e) {
      throw new StorageException("cannot rewrite files of the value log", e);
    } finally {
      jobLock.unlock();
    }
  }

  /** Stops the running job; no other job starts. */
  public void cancel() {
    cancelled = true;
  }

  List<String> damagedFiles() {
    return quarantine.namesIn(versions.current());
  }

  public StoreStats.Reclaim stats(Version version) {
    return new StoreStats.Reclaim(
        filesRewritten.get(),
        bytesRead.get(),
        bytesWritten.get(),
        picker().balance(version).garbageBytes(),
        quarantine.namesIn(version));
  }

  public long filesRewritten() {
    return filesRewritten.get();
  }

  long bytesRead() {
    return bytesRead.get();
  }

  public long bytesWritten() {
    return bytesWritten.get();
  }

  /** Runs one job and schedules the next, so that stores with the same thread take turns. */
  private void runDue() {
    boolean goesOn = false;
    jobLock.lock();
    try {
      scheduled.set(false);
      // A job runs, so waiting helps writers.
      pressure.relieved(true);
      activeSegment.trySealWithGarbage(sealBytes(versions.current()));
      boolean more = mayRun() && runOne(this::pickDue, pace, /* readsAhead= */ () -> false);
      error = null;
      if (more) {
        goesOn = schedule();
      } else if (mayRun()) {
        orderIfIdle();
      }
    } catch (CancellationException e) {
      // The store is closing.
      return;
    } catch (IOException | RuntimeException | Error e) {
      PageFaults.throwOther(e);
      error = e;
    } finally {
      if (!goesOn) {
        pressure.relieved(false);
      }
      jobLock.unlock();
    }
  }

  private boolean mayRun() {
    return !cancelled && context.currentState().isOpen();
  }

  /** Bytes of garbage at which the active segment is sealed. */
  private long sealBytes(Version version) {
    return pressure.goal().sealBytes(version.liveBytes());
  }

  private ReclaimPicker picker() {
    return new ReclaimPicker(pressure.goal());
  }

  /** Quarantined files and others that a job must leave alone. */
  private ReclaimPicker.Damage damage(Set<Long> others) {
    Set<Long> files = quarantine.numbers(StoreFiles.Kind.SEGMENT);
    files.addAll(others);
    return new ReclaimPicker.Damage(files, quarantine.numbers(StoreFiles.Kind.TABLE));
  }

  private @Nullable ReclaimPlan pickDue(Version version, Set<Long> pinned) {
    ReclaimPicker picker = picker();
    ReclaimPlan plan = picker.pick(version, damage(pinned));
    fruitless = plan == null && pinned.isEmpty() && picker.isDue(version) ? version : null;
    return plan;
  }

  /**
   * Runs the next job; returns whether there was one. Quarantines a damaged or unreadable file, so
   * the next job is another one.
   */
  private boolean runOne(
      BiFunction<Version, Set<Long>, @Nullable ReclaimPlan> choice,
      Pace jobPace,
      BooleanSupplier readsAhead)
      throws IOException {
    failure.check();
    deadSegments.remove();
    Set<String> known = quarantine.names();
    try (RefreshTargets.Claim claim = refreshTargets.claim(choice)) {
      ReclaimPlan plan = claim.plan();
      if (plan != null) {
        new Rewrite(plan).run(claim.version(), jobPace, readsAhead);
      }
      return plan != null;
    } catch (CorruptionException | IncompatibleFormatException e) {
      if (!quarantine.addDamaged(e, file -> !known.contains(file))) {
        throw e;
      }
      return true;
    }
  }

  /** Whether a caller waits for the running job, or a job of another store for its thread. */
  private boolean isWaitedFor() {
    return jobLock.hasQueuedThreads() || config.scheduler().hasPending(Scheduler.Lane.RECLAIM);
  }

  /** Runs at most one reordering job, so that threads waiting for the lock get their turn. */
  private void orderIfIdle() {
    try {
      if (ordering.isDue(versions.current())) {
        orderSome(Long.MAX_VALUE, orderingPace, ordering::isQuiet);
      }
    } catch (CancellationException e) {
      throw e;
    } catch (IOException | RuntimeException | Error e) {
      PageFaults.throwOther(e);
      // Operations that need the data or the disk space report the error.
      ordering.failed();
    }
  }

  /** Like {@link Step#run}, for reordering. */
  private boolean orderSome(long last, Pace jobPace, BooleanSupplier continues) throws IOException {
    Version looked = versions.retainCurrent();
    Set<String> known = quarantine.names();
    try {
      ordering.look(looked, damage(Set.of()), () -> cancelled || !continues.getAsBoolean());
    } catch (CorruptionException | IncompatibleFormatException e) {
      if (!quarantine.addDamaged(e, file -> !known.contains(file))) {
        throw e;
      }
      return true;
    } finally {
      looked.release();
    }
    return runOne(
        (version, pinned) -> ordering.choose(version, damage(pinned), last), jobPace, continues);
  }

  private final class Rewrite {
    private final @Nullable ReclaimEvent event = FlightEvents.beginReclaim();
    private final long file = versions.newSegmentId();
    private final ReclaimPlan plan;
    private @Nullable String unreadable;

    Rewrite(ReclaimPlan plan) {
      this.plan = plan;
    }

    void run(Version version, Pace jobPace, BooleanSupplier readsAhead) throws IOException {
      ReclaimJob.Control control =
          new ReclaimJob.Control(
              jobPace, () -> cancelled, readsAhead, segment -> unreadable(version, segment));
      ReclaimJob.Output output;
      try {
        output = ReclaimJob.run(context, control, version, plan, file);
      } catch (StorageException | InternalError e) {
        if (unreadable == null) {
          throw e;
        }
        quarantine.add(unreadable, PageFaults.error("cannot read " + unreadable, e));
        return;
      }
      bytesRead.addAndGet(output.recordBytes());
      bytesWritten.addAndGet(output.fileBytes());
      deadSegments.withoutRemovals(() -> install(plan, file, output.fileBytes()));
      filesRewritten.addAndGet(plan.files().size());
      record(event, plan, output);
      deadSegments.remove();
    }

    private void unreadable(Version version, long segment) {
      long home = ReclaimPicker.homeOf(version, segment);
      if (plan.files().contains(home)) {
        unreadable = StoreFiles.segment(home);
      }
    }
  }

  private void record(@Nullable ReclaimEvent event, ReclaimPlan plan, ReclaimJob.Output output) {
    if (event == null) {
      return;
    }
    event.end();
    if (event.shouldCommit()) {
      event.store = config.storage().location();
      event.victims = plan.files().size();
      event.bytesRead = output.recordBytes();
      event.bytesWritten = output.fileBytes();
      event.bytesFreed = Math.max(0, plan.victimBytes() - output.fileBytes());
      event.commit();
    }
  }

  /** Installs the new file for all segments of the victims that still exist. */
  private void install(ReclaimPlan plan, long file, long bytes) {
    boolean named = false;
    try {
      Segment relocated =
          Segment.openRelocated(
              config.storage(),
              versions.storeId(),
              file,
              bytes,
              context.epochs(),
              context.ledger());
      context.segments().add(relocated);
      requireReadable(relocated);
      VersionEdit edit = new VersionEdit().addRelocated(file, bytes);
      List<Long> moved = new ArrayList<>();
      for (SegmentState segment : versions.current().segments().values()) {
        if (plan.files().contains(segment.home())) {
          edit.relocateSegment(segment.id(), file);
          moved.add(segment.id());
        }
      }
      context.segments().addHomes(moved, relocated);
      if (!moved.isEmpty()) {
        named = true;
        failure.guard(() -> versions.apply(edit));
        context.currentState().installVersion(null);
      }
    } finally {
      // After an error the edit may have been applied all the same, and readers need the file.
      if (!versions.current().segments().containsKey(file)) {
        withdraw(file, /* unknown= */ !named);
      }
    }
  }

  /**
   * Maps the file before readers can reach it: if the edit fails, its name is deleted before it is
   * withdrawn, and readers could no longer map it.
   */
  private static void requireReadable(Segment relocated) {
    try {
      relocated.relocatedBytes();
    } catch (CorruptionException e) {
      // The file is not part of the store, so it must not be quarantined.
      throw new StorageException("cannot read what was written to " + relocated.name(), e);
    }
  }

  /**
   * Withdraws a file that is not in the current version; readers may be using it.
   *
   * @param unknown whether no edit names it, so it must be deleted here
   */
  private void withdraw(long file, boolean unknown) {
    Segment unlisted = context.segments().unlist(file);
    context
        .epochs()
        .retire(
            () -> {
              if (unlisted != null) {
                unlisted.free();
              }
              if (unknown) {
                try {
                  config.storage().delete(StoreFiles.segment(file));
                } catch (IOException e) {
                  // The next open removes the file.
                  return;
                }
              }
            });
  }
}
