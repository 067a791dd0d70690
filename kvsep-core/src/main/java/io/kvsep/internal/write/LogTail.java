package io.kvsep.internal.write;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.StorageException;
import io.kvsep.internal.background.FlushLog;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The end of the log: a {@link LogWriter} that switches to new segments and seals old ones. Each is
 * durable and in the manifest before its first frame, so the manifest alone says which segments
 * exist. That takes three syncs, so a background job creates the next segment, the <em>spare</em>,
 * in advance. A segment ends in the log itself; the manifest seals it with the edit that moves the
 * replay position past it.
 *
 * <p>While a memtable waits for its flush, which syncs the log, long unsynced parts are synced in
 * the background. Otherwise the device idles while the table is built, and flush and writers then
 * wait.
 *
 * <p>All methods are for the leader except {@link #sync}, {@link #durable}, {@link #applySealing}
 * and {@link #resume}.
 */
public final class LogTail implements FlushLog {
  private static final long LIVE_BYTES_PER_SEGMENT_BYTE = 8;

  /** Sync threshold as a multiple of the spare's. */
  private static final long SYNC_FACTOR = 2;

  /** Each new segment costs three syncs. */
  private static final long SEGMENT_BYTES_MIN = 32 << 20;

  private final LogWriter logWriter;
  private final SegmentDirectory directory;
  private final VersionSet versions;
  private final CurrentReadState currentState;
  private final FailureState failure;
  private final Scheduler scheduler;
  private final long segmentBytesMax;
  private final long spareFromBytes;
  private final long syncFromBytes;
  private final long retainedPart;
  private final AtomicBoolean spareScheduled = new AtomicBoolean();
  private final AtomicBoolean syncScheduled = new AtomicBoolean();

  /** Also held while segments are created. */
  private final ReentrantLock lock = new ReentrantLock();

  /** The next segment. Written under lock; read unlocked as a hint. */
  private volatile @Nullable Segment spare;

  /**
   * A spare being removed. After a failed edit the manifest may still hold it, and no later segment
   * may be used until the removal succeeds: recovery would take this one for the last.
   */
  @GuardedBy("lock")
  private @Nullable Segment leaving;

  @GuardedBy("lock")
  private final List<Segment> ended = new ArrayList<>();

  @GuardedBy("lock")
  private boolean closing;

  /** The active segment when a spare was requested. Only for the leader. */
  private long spareAskedIn;

  public LogTail(
      EngineConfig config,
      LogWriter logWriter,
      SegmentDirectory directory,
      VersionSet versions,
      CurrentReadState currentState,
      FailureState failure) {
    this.currentState = currentState;
    this.logWriter = logWriter;
    this.directory = directory;
    this.versions = versions;
    this.failure = failure;
    this.scheduler = config.scheduler();
    this.segmentBytesMax = config.values().segmentBytes();
    this.spareFromBytes = config.shape().log().spareFromBytes();
    this.syncFromBytes = SYNC_FACTOR * spareFromBytes;
    this.retainedPart = config.reclaim().goal().retainedPart();
  }

  LogWriter logWriter() {
    return logWriter;
  }

  /** Throws if the store has failed. */
  void check() {
    failure.check();
  }

  /** Takes over the empty spare found at open, if any. */
  public void resume(@Nullable Segment empty) throws IOException {
    lock.lock();
    try {
      if (empty != null) {
        logWriter.resumeEmpty(empty);
        spare = empty;
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Short while little is live: a file takes its full length until the log has left it. Longer if
   * much is retained anyway.
   */
  long segmentBytes(Version version) {
    long part = Math.max(retainedPart, version.liveBytes() / LIVE_BYTES_PER_SEGMENT_BYTE);
    return Math.min(segmentBytesMax, Math.max(SEGMENT_BYTES_MIN, part));
  }

  public void publish() throws IOException {
    Segment active = logWriter.publish();
    if (active.publishedEnd() >= spareFromBytes) {
      spareNeeded(active);
    }
    syncNeeded();
  }

  /** Everything before this position is durable. */
  @Override
  public LogPosition durable() {
    return logWriter.durable();
  }

  /** Discards the group. Fails the store if recovery might find its remains. */
  public void abort() {
    try {
      logWriter.abort();
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }

  /** Syncs everything published. An I/O error fails the store. */
  @Override
  public void sync() {
    try {
      logWriter.sync();
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }

  /** Seals the active segment if remains at its end could not be cut. */
  public void leaveRemains() {
    if (logWriter.isAbandoned()) {
      roll();
    }
  }

  /**
   * Applies an edit that moves the replay position, and seals all ended segments: recovery would
   * not find an unsealed one before that position.
   */
  @Override
  public void applySealing(VersionEdit edit) {
    lock.lock();
    try {
      ended.forEach(
          segment ->
              edit.sealSegment(segment.id(), segment.publishedEnd(), segment.lastSequence()));
      failure.guard(() -> versions.apply(edit));
      ended.clear();
    } finally {
      lock.unlock();
    }
  }

  public void sealEnded() {
    lock.lock();
    try {
      if (!ended.isEmpty()) {
        applySealing(new VersionEdit());
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Ends the active segment, which is flushed, so that nothing of it is replayed.
   *
   * @param dead whether to remove it: no table points into it
   */
  void detach(Segment active, boolean dead) {
    sync();
    VersionEdit edit =
        new VersionEdit()
            .sealSegment(active.id(), active.publishedEnd(), logWriter.lastSequence())
            .replayFrom(new LogPosition(active.id() + 1, 0));
    if (dead) {
      edit.removeSegment(active.id());
    }
    applySealingActive(edit);
    try {
      logWriter.detach();
      currentState.installVersion(null);
    } catch (RuntimeException | Error e) {
      // Later writes to the ended segment would be lost.
      throw failure.fail(e);
    }
  }

  /** As {@link #applySealing}, for an edit that seals the active segment too. */
  private void applySealingActive(VersionEdit edit) {
    boolean applied = false;
    try {
      applySealing(edit);
      applied = true;
    } finally {
      if (!applied) {
        // The edit may be durable despite the error.
        logWriter.abandonActive();
      }
    }
  }

  /** Removes the spare and creates no more. */
  public void close() {
    lock.lock();
    try {
      closing = true;
      dropSpare();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Removes the spare, unless the active segment is abandoned: that may have an end marker, and no
   * later edit could seal it.
   */
  public void dropSpare() {
    lock.lock();
    try {
      boolean isEndKnown = logWriter.active() == null || !logWriter.isAbandoned();
      if (spare != null && isEndKnown) {
        leaving = spare;
        spare = null;
      }
      removeLeaving();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void removeLeaving() {
    Segment unused = leaving;
    if (unused != null) {
      failure.guard(() -> versions.apply(new VersionEdit().removeSegment(unused.id())));
      leaving = null;
      currentState.installVersion(null);
    }
  }

  /** Ends the active segment, if any, and continues in the next one. */
  public void roll() {
    lock.lock();
    try {
      removeLeaving();
      Segment next = spare;
      if (next == null) {
        next = create();
        spare = next;
      }
      Segment last = logWriter.active();
      if (last != null && logWriter.isAbandoned()) {
        // No end marker fits behind the remains; the manifest has the end.
        applySealingActive(
            new VersionEdit()
                .sealSegment(last.id(), last.publishedEnd(), logWriter.lastSequence()));
      } else if (last != null) {
        logWriter.endSegment();
        ended.add(last);
      }
      spare = null;
      logWriter.switchTo(next);
    } catch (IOException e) {
      throw new StorageException("cannot begin a segment", e);
    } catch (Error e) {
      // The switch is incomplete: neither segment may be appended to.
      throw failure.fail(e);
    } finally {
      lock.unlock();
    }
  }

  private void spareNeeded(Segment active) {
    if (spare != null || active.id() == spareAskedIn) {
      return;
    }
    spareAskedIn = active.id();
    if (spareScheduled.compareAndSet(false, true)
        && scheduler.tryExecute(Scheduler.Lane.LOG, this::makeSpare) != null) {
      spareScheduled.set(false);
    }
  }

  private void syncNeeded() {
    if (isSyncDue()
        && syncScheduled.compareAndSet(false, true)
        && scheduler.tryExecute(Scheduler.Lane.LOG, this::syncBehind) != null) {
      syncScheduled.set(false);
    }
  }

  private boolean isSyncDue() {
    return logWriter.unsyncedBytes() >= syncFromBytes && currentState.get().memtables.size() > 1;
  }

  private void syncBehind() {
    try {
      while (currentState.isOpen() && isSyncDue()) {
        sync();
      }
    } catch (RuntimeException e) {
      // The store failed, which the next write reports. The flag prevents retries.
      return;
    }
    syncScheduled.set(false);
    if (currentState.isOpen()) {
      // A concurrent publish saw the flag and scheduled nothing.
      syncNeeded();
    }
  }

  private void makeSpare() {
    spareScheduled.set(false);
    lock.lock();
    try {
      boolean needed = spare == null && logWriter.active() != null && !closing;
      if (needed && currentState.isOpen() && !failure.hasFailed()) {
        removeLeaving();
        spare = create();
      }
    } catch (IOException | RuntimeException e) {
      // The leader retries when it needs a segment, and reports the error.
      return;
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private Segment create() throws IOException {
    Segment created = logWriter.createSegment(versions.newSegmentId());
    boolean inManifest = false;
    try {
      syncCreated(created);
      failure.guard(() -> versions.apply(new VersionEdit().addSegment(created.id())));
      inManifest = true;
    } finally {
      if (!inManifest) {
        created.free();
      }
    }
    try {
      directory.add(created);
      // Cursors must pin a version that contains this segment.
      currentState.installVersion(null);
    } catch (RuntimeException | Error e) {
      // A log continued without this segment would have a gap.
      throw failure.fail(e);
    }
    return created;
  }

  private void syncCreated(Segment created) {
    try {
      logWriter.syncCreated(created);
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }
}
