package io.kvsep.internal.reclaim;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.background.ActiveSegment;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.background.DeadSegments;
import io.kvsep.internal.background.EngineStats;
import io.kvsep.internal.background.FileQuarantine;
import io.kvsep.internal.concurrent.NonAllocatingLock;
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
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Rewrites files of the value log: in the background as soon as there is more garbage than there
 * may be, on the caller's thread until hardly any is left. One job at a time, on a lane of its own,
 * so that compaction neither starves it nor is starved.
 *
 * <p>A failed job leaves the victims in place. A file that turns out to be damaged is spared from
 * then on, until the store is opened again, and so are victims that cannot be read time after time;
 * others go on. Thread safe.
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

  /** Made once: there may be no memory for it when it is scheduled already. */
  private final Runnable dueJob = this::runDue;

  /** Held by the one job that runs. */
  private final NonAllocatingLock jobLock = new NonAllocatingLock();

  private final FileQuarantine spared;

  /** Of the job that runs. */
  private final ReclaimRetries stubborn;

  /** What was spared when the job under way was chosen. */
  private List<String> sparedBefore = List.of();

  private volatile @Nullable Throwable error;

  /**
   * Whether there was too much garbage when the last job was chosen, out of all files; later there
   * may be.
   */
  private boolean dueAtLook;

  /** Where nothing was found to do: as long as it is in force, looking again is no use. */
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
    this.ordering = new ValueReordering(config, epochs, ledger, space, followedFrom);
  }

  /** Starts a job if one is due. That there is no thread for it is a job that failed. */
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
      Throwable refused = config.scheduler().tryExecute(Scheduler.Lane.RECLAIM, dueJob);
      if (refused != null) {
        error = refused;
        scheduled.set(false);
      }
    }
  }

  /**
   * Looks again at intervals, in longer ones after what failed.
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

  /** Whether no job runs or is about to. */
  public boolean isAtRest() {
    return !scheduled.get() && !jobLock.isLocked();
  }

  /**
   * Rewrites all that is worth it of the files that are there, on the calling thread. Not those
   * that come meanwhile, its own among them: others may make garbage as fast as it is rewritten,
   * and then this might never end.
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

  /** Files that come later have higher numbers. */
  private static OptionalLong lastFile(Version version) {
    SortedMap<Long, SegmentState> segments = version.segments();
    return segments.isEmpty() ? OptionalLong.empty() : OptionalLong.of(segments.lastKey());
  }

  /** Makes a running job give up and starts no more. */
  public void cancel() {
    cancelled = true;
  }

  /** Names of the files in which something cannot be read, so that nothing is done with them. */
  List<String> damagedFiles() {
    return spared.namesIn(versions.current());
  }

  public EngineStats.Reclaim stats(Version version) {
    return new EngineStats.Reclaim(
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
      // Jobs are at work from now on, so waiting for them helps.
      pressure.relieved(true);
      activeSegment.trySealWithGarbage(sealBytes(versions.current()));
      boolean more = true;
      while (more && !cancelled && live.isOpen()) {
        more = runOne(OptionalLong.empty(), pace);
      }
      error = null;
      if (!cancelled && live.isOpen()) {
        order();
      }
    } catch (CancellationException e) {
      // The store is closing; nothing was changed.
      return;
    } catch (IOException | RuntimeException | Error e) {
      error = e;
    } finally {
      pressure.relieved(false);
      jobLock.unlock();
    }
  }

  /** Garbage in the active segment for the sake of which it is sealed. */
  private long sealBytes(Version version) {
    return pressure.goal().sealBytes(version.liveBytes());
  }

  /** By what garbage there may be at this moment. */
  private ReclaimPicker picker() {
    return new ReclaimPicker(pressure.goal());
  }

  /** What cannot be read, and files that a job must not touch for other reasons. */
  private ReclaimPicker.Damage damage(Set<Long> others) {
    return new ReclaimPicker.Damage(spared.logFilesAnd(others), spared.tableNumbers());
  }

  /**
   * Does the next job; whether there was one.
   *
   * @param last for all that is worth it up to this file; empty for what is due
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

  /** One job that puts values in order, if any: whoever waits for the lock comes between them. */
  private void order() {
    try {
      Version looked = versions.retainCurrent();
      try {
        if (!ordering.isDue(looked)) {
          return;
        }
        sparedBefore = spared.names();
        ordering.look(looked, damage(Set.of()), () -> cancelled);
      } finally {
        looked.release();
      }
      try (RefreshTargets.Claim claim =
          refreshTargets.claim((version, pinned) -> ordering.choose(version, damage(pinned)))) {
        ReclaimPlan plan = claim.plan();
        if (plan != null) {
          Rewrite rewrite =
              new Rewrite(
                  plan,
                  ordering.pace(pace, ReclaimPace::rest, claim.version(), this::isAwaited),
                  ordering::isQuiet);
          rewrite.write(claim.version());
          rewrite.putInForce();
        }
      }
    } catch (CorruptionException | IncompatibleFormatException e) {
      if (!spared.spareAnother(e, sparedBefore)) {
        ordering.failed();
      }
    } catch (CancellationException e) {
      throw e;
    } catch (IOException | RuntimeException | Error e) {
      // Whoever needs what cannot be read or written finds out himself.
      ordering.failed();
    }
  }

  /** Whether the job that runs is in the way of something. */
  private boolean isAwaited() {
    return cancelled || jobLock.hasQueuedThreads() || picker().isDue(versions.current());
  }

  /** A job from its first byte on. */
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
              readsAhead,
              config.shape().pieceBytes());
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

  /** Puts the new file in force, for all segments of the victims that are still there. */
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
      // After an error it may be in force all the same, and values are found in it alone later on.
      if (!versions.current().segments().containsKey(file)) {
        withdraw(file, /* unknown= */ !named);
      }
    }
  }

  /**
   * Has the file mapped before anybody is led to it. Where the edit fails, its name goes before it
   * is withdrawn, and by then it could not be mapped any more.
   */
  private static void requireReadable(Segment relocated) {
    try {
      relocated.relocatedBytes();
    } catch (CorruptionException e) {
      // No file of the store's, which would be left alone from now on.
      throw new StorageException("cannot read what was written to " + relocated.name(), e);
    }
  }

  /**
   * Takes a file back that is not in force. Somebody may have read in it meanwhile.
   *
   * @param unknown whether no edit ever named it, so that it is for us to delete
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
