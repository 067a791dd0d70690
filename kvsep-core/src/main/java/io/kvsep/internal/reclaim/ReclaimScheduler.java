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
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Rewrites value-log files: in the background once there is more garbage than allowed, and on the
 * caller's thread until hardly any is left. Runs one job at a time, on its own lane, so that
 * compaction and reclaim do not starve each other.
 *
 * <p>A failed job leaves the victims in place. Damaged files are quarantined until the store is
 * reopened. Victims that repeatedly cannot be read are quarantined too. Other files are still
 * processed. Thread safe.
 */
public final class ReclaimScheduler {
  private static final int TICKS_BETWEEN_TRIES_MAX = 64;

  private final EngineConfig config;
  private final CurrentReadState live;
  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;
  private final FailureState failure;
  private final MemoryLedger ledger;
  private final DeadSegments deadSegments;
  private final ActiveSegment activeSegment;
  private final ReclaimPressure pressure;
  private final ReclaimPace pace;
  private final RefreshTargets refreshTargets;
  private final ValueReordering ordering;

  private final AtomicBoolean scheduled = new AtomicBoolean();

  /** Held by the running job. */
  private final ReentrantLock jobLock = new ReentrantLock();

  private final FileQuarantine spared;

  /** Accessed only by the running job. */
  private final ReclaimRetries stubborn;

  /** Names of the quarantined files when the running job was chosen. */
  private List<String> sparedBefore = List.of();

  private volatile @Nullable Throwable error;

  /**
   * Whether garbage was due when the last job was chosen from all files. The pressure may change it
   * later.
   */
  private boolean dueAtLook;

  /** Version in which no job was found; while it is current there is no point in looking again. */
  private volatile @Nullable Version fruitless;

  private volatile boolean cancelled;

  private final RetryBackoff retryTicks = new RetryBackoff(TICKS_BETWEEN_TRIES_MAX);

  private final AtomicLong filesRewritten = new AtomicLong();
  private final AtomicLong bytesRead = new AtomicLong();
  private final AtomicLong bytesWritten = new AtomicLong();

  public ReclaimScheduler(
      EngineConfig config,
      CurrentReadState live,
      VersionSet versions,
      SegmentDirectory segments,
      Epochs<?> epochs,
      FailureState failure,
      MemoryLedger ledger,
      CompactionScheduler background,
      ActiveSegment activeSegment,
      ReclaimPressure pressure,
      LongSupplier writtenBytes,
      RefreshTargets refreshTargets,
      LogSpace space,
      LongSupplier followedFrom) {
    this.config = config;
    this.live = live;
    this.versions = versions;
    this.segments = segments;
    this.epochs = epochs;
    this.failure = failure;
    this.ledger = ledger;
    this.deadSegments = background.deadSegments();
    this.spared = background.sparedFiles();
    this.stubborn = new ReclaimRetries(spared);
    this.activeSegment = activeSegment;
    this.pressure = pressure;
    this.pace =
        new ReclaimPace(
            config.ticker(),
            config.reclaim().bytesPerSecondMin(),
            pressure::get,
            writtenBytes,
            Uninterruptibles::pause);
    this.refreshTargets = refreshTargets;
    this.ordering = new ValueReordering(config, ledger, space, followedFrom);
  }

  /** Schedules a job if one is due. A refused execution counts as a failed job. */
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
    if (scheduled.compareAndSet(false, true)) {
      Throwable refused = config.scheduler().tryExecute(Scheduler.Lane.RECLAIM, this::runDue);
      if (refused != null) {
        error = refused;
        scheduled.set(false);
      }
    }
  }

  /**
   * Checks whether a job is due. Called at intervals; backs off after failures.
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
   * Rewrites all existing files that are worth it, on the calling thread. Newer files, including
   * its own output, are excluded: concurrent writers may create garbage as fast as it is rewritten,
   * and the call might never end.
   */
  public void runToEnd() {
    jobLock.lock();
    try {
      error = null;
      OptionalLong last = lastFile(versions.current());
      boolean more = last.isPresent();
      while (more) {
        more = runOne(last, Pace.UNLIMITED);
      }
    } catch (IOException e) {
      throw new StorageException("cannot rewrite files of the value log", e);
    } finally {
      jobLock.unlock();
    }
  }

  /**
   * Rewrites all existing files whose values lie out of key order, on the calling thread. Newer
   * files are excluded, as in {@link #runToEnd}.
   */
  public void orderValues() {
    jobLock.lock();
    try {
      OptionalLong last = lastFile(versions.current());
      boolean more = last.isPresent();
      while (more) {
        failure.check();
        more = orderSome(last.getAsLong(), Pace.UNLIMITED, () -> true);
      }
    } catch (IOException e) {
      throw new StorageException("cannot put values in key order", e);
    } finally {
      jobLock.unlock();
    }
  }

  private static OptionalLong lastFile(Version version) {
    SortedMap<Long, SegmentState> segments = version.segments();
    return segments.isEmpty() ? OptionalLong.empty() : OptionalLong.of(segments.lastKey());
  }

  /** Stops a running job and starts no more. */
  public void cancel() {
    cancelled = true;
  }

  /** Names of the files that are skipped because parts of them cannot be read. */
  List<String> damagedFiles() {
    return spared.namesIn(versions.current());
  }

  public StoreStats.Reclaim stats(Version version) {
    return new StoreStats.Reclaim(
        filesRewritten.get(),
        bytesRead.get(),
        bytesWritten.get(),
        picker().balance(version).garbageBytes(),
        spared.namesIn(version));
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

  private void runDue() {
    jobLock.lock();
    try {
      scheduled.set(false);
      // Waiting writers are relieved from now on, because a job runs.
      pressure.relieved(true);
      activeSegment.trySealWithGarbage(sealBytes(versions.current()));
      boolean more = true;
      while (more && !cancelled && live.isOpen()) {
        more = runOne(OptionalLong.empty(), pace);
      }
      error = null;
      if (!cancelled && live.isOpen()) {
        orderIfIdle();
      }
    } catch (CancellationException e) {
      // The store is closing; nothing was changed.
      return;
    } catch (IOException | RuntimeException | Error e) {
      PageFaults.throwOther(e);
      error = e;
    } finally {
      pressure.relieved(false);
      jobLock.unlock();
    }
  }

  /** Bytes of garbage at which the active segment is sealed. */
  private long sealBytes(Version version) {
    return pressure.goal().sealBytes(version.liveBytes());
  }

  private ReclaimPicker picker() {
    return new ReclaimPicker(pressure.goal());
  }

  /** Unreadable files, and files that a job must not touch for other reasons. */
  private ReclaimPicker.Damage damage(Set<Long> others) {
    return new ReclaimPicker.Damage(spared.logFilesAnd(others), spared.tableNumbers());
  }

  /**
   * Runs the next job; returns whether there was one.
   *
   * @param last last file to consider when rewriting everything worth it; empty for due jobs
   */
  private boolean runOne(OptionalLong last, Pace jobPace) throws IOException {
    failure.check();
    deadSegments.remove();
    try (RefreshTargets.Claim claim =
        refreshTargets.claim((version, pinned) -> choose(version, pinned, last))) {
      ReclaimPlan plan = claim.plan();
      if (plan == null) {
        stubborn.requireOthers();
        fruitless = claim.hindered() || !dueAtLook ? null : claim.version();
        return false;
      }
      Rewrite rewrite = new Rewrite(plan, jobPace, /* readsAhead= */ () -> false);
      try {
        rewrite.write(claim.version());
      } catch (StorageException | InternalError e) {
        if (stubborn.failed(plan.files(), e)) {
          return true;
        }
        throw e;
      }
      stubborn.succeeded();
      rewrite.putInForce();
      return true;
    } catch (CorruptionException | IncompatibleFormatException e) {
      if (!spared.spareAnother(e, sparedBefore)) {
        throw e;
      }
      return true;
    }
  }

  private @Nullable ReclaimPlan choose(Version version, Set<Long> pinned, OptionalLong last) {
    sparedBefore = spared.names();
    ReclaimPicker.Damage damage = damage(pinned);
    int filesMax = stubborn.filesMax();
    ReclaimPicker picker = picker();
    dueAtLook = last.isEmpty() && picker.isDue(version);
    return last.isPresent()
        ? picker.pickAll(version, damage, last.getAsLong(), filesMax)
        : picker.pick(version, damage, filesMax);
  }

  /** Runs at most one reordering job, so that threads waiting for the lock can run in between. */
  private void orderIfIdle() {
    try {
      if (ordering.isDue(versions.current())) {
        orderSome(Long.MAX_VALUE, ordering.pace(pace), ordering::isQuiet);
      }
    } catch (CancellationException e) {
      throw e;
    } catch (IOException | RuntimeException | Error e) {
      PageFaults.throwOther(e);
      // Operations that need the unreadable data or the full disk report the error themselves.
      ordering.failed();
    }
  }

  /**
   * Runs the next reordering job; returns whether there was one.
   *
   * @param last last file to consider
   */
  private boolean orderSome(long last, Pace jobPace, BooleanSupplier continues)
      throws IOException {
    sparedBefore = spared.names();
    try {
      Version looked = versions.retainCurrent();
      try {
        ordering.look(
            looked, damage(Set.of()), () -> cancelled || !continues.getAsBoolean());
      } finally {
        looked.release();
      }
      try (RefreshTargets.Claim claim =
          refreshTargets.claim(
              (version, pinned) -> ordering.choose(version, damage(pinned), last))) {
        ReclaimPlan plan = claim.plan();
        if (plan == null) {
          return false;
        }
        Rewrite rewrite = new Rewrite(plan, jobPace, continues);
        rewrite.write(claim.version());
        rewrite.putInForce();
        return true;
      }
    } catch (CorruptionException | IncompatibleFormatException e) {
      if (!spared.spareAnother(e, sparedBefore)) {
        throw e;
      }
      return true;
    }
  }

  private final class Rewrite {
    private final @Nullable ReclaimEvent event = FlightEvents.beginReclaim();
    private final long file = versions.newSegmentId();
    private final ReclaimPlan plan;
    private final ReclaimContext context;
    private ReclaimJob.@Nullable Output output;

    Rewrite(ReclaimPlan plan, Pace jobPace, BooleanSupplier readsAhead) {
      this.plan = plan;
      this.context =
          new ReclaimContext(
              config.storage(),
              versions.storeId(),
              ledger,
              segments,
              epochs,
              jobPace,
              () -> cancelled,
              readsAhead);
    }

    void write(Version version) throws IOException {
      output = ReclaimJob.run(context, version, plan, file);
    }

    void putInForce() {
      ReclaimJob.Output written = Objects.requireNonNull(output);
      bytesRead.addAndGet(written.recordBytes());
      bytesWritten.addAndGet(written.fileBytes());
      deadSegments.exclusively(() -> install(plan, file, written.fileBytes()));
      filesRewritten.addAndGet(plan.files().size());
      record(event, plan, written);
      deadSegments.remove();
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
          Segment.openRelocated(config.storage(), versions.storeId(), file, bytes, epochs, ledger);
      segments.add(relocated);
      requireReadable(relocated);
      VersionEdit edit = new VersionEdit().addRelocated(file, bytes);
      List<Long> moved = new ArrayList<>();
      for (SegmentState segment : versions.current().segments().values()) {
        if (plan.files().contains(segment.home())) {
          edit.relocateSegment(segment.id(), file);
          moved.add(segment.id());
        }
      }
      segments.addHomes(moved, relocated);
      if (!moved.isEmpty()) {
        named = true;
        failure.guard(() -> versions.apply(edit));
        live.installVersion(null);
      }
    } finally {
      // After an error it may be current anyway; then its values will be found only in it.
      if (!versions.current().segments().containsKey(file)) {
        withdraw(file, /* unknown= */ !named);
      }
    }
  }

  /**
   * Maps the file before readers can reach it. If the edit fails, the file's name is deleted before
   * it is withdrawn, and it could no longer be mapped.
   */
  private static void requireReadable(Segment relocated) {
    try {
      relocated.relocatedBytes();
    } catch (CorruptionException e) {
      // Not a file of the store, so it must not be quarantined.
      throw new StorageException("cannot read what was written to " + relocated.name(), e);
    }
  }

  /**
   * Withdraws a file that is not part of the current version. Readers may have used it meanwhile.
   *
   * @param unknown whether no edit ever named it, so that it must be deleted here
   */
  private void withdraw(long file, boolean unknown) {
    Segment unlisted = segments.unlist(file);
    epochs.retire(
        () -> {
          if (unlisted != null) {
            unlisted.free();
          }
          if (unknown) {
            try {
              config.storage().delete(StoreFiles.segment(file));
            } catch (IOException e) {
              // The file stays as an orphan; the next open removes it.
              return;
            }
          }
        });
  }
}
