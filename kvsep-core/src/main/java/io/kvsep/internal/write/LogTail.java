package io.kvsep.internal.write;

import io.kvsep.error.StorageException;
import io.kvsep.internal.background.FlushLog;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The log as the commit leader uses it: a {@link LogWriter} that goes on in new segments by itself.
 * A segment is durable and in the manifest before the first frame goes into it, so the manifest
 * alone says which segments exist. That takes three syncs, so the next segment is made ahead of
 * need, in the background: the <em>spare</em>. While a memtable waits to be flushed, which takes a
 * sync of the log, what is written is synced in the background as well once it has become much:
 * else the device would have nothing to do while the table is made, and then the flush, and writers
 * behind it, would wait for all of it. A segment ends in the log itself, and the manifest seals it
 * with the edit that says that nothing of it will be replayed any more.
 *
 * <p>All but {@link #sync}, {@link #applySealing} and {@link #resume} is for the leader.
 */
public final class LogTail implements FlushLog {
  private static final long LIVE_BYTES_PER_SEGMENT_BYTE = 8;

  /** So many times what makes a spare worth having is worth a sync. */
  private static final long SYNC_FACTOR = 2;

  /** Each new segment costs three syncs. */
  private static final long SEGMENT_BYTES_MIN = 32 << 20;

  private final LogWriter writer;
  private final SegmentDirectory directory;
  private final VersionSet versions;
  private final CurrentReadState live;
  private final FailureState failure;
  private final Scheduler scheduler;
  private final LogPreallocator room;
  private final long segmentBytesMax;
  private final long spareFromBytes;
  private final long syncFromBytes;
  private final long retainedPart;
  private final AtomicBoolean spareScheduled = new AtomicBoolean();

  /** Made once: there may be no memory for it when it is needed. */
  private final Runnable spareJob = this::makeSpare;

  private final AtomicBoolean syncScheduled = new AtomicBoolean();
  private final Runnable syncJob = this::syncBehind;

  /** Guards the four below, and the creation of segments. */
  private final NonAllocatingLock lock = new NonAllocatingLock();

  /** The segment to go on in; written under the lock, read by the leader without it as a hint. */
  private volatile @Nullable Segment spare;

  /**
   * A spare that is to go. Where removing it fails, the manifest may have it or not, and as long as
   * it may, nothing can be written behind it: recovery would take it for the last segment.
   */
  private @Nullable Segment leaving;

  /** Segments that have ended and are not sealed in the manifest. */
  private final List<Segment> ended = new ArrayList<>();

  /** Whether no spare is to be made any more. */
  private boolean closing;

  /** Of the leader: the segment during which a spare was asked for. */
  private long spareAskedIn;

  public LogTail(
      EngineConfig config,
      LogWriter writer,
      SegmentDirectory directory,
      VersionSet versions,
      CurrentReadState live,
      FailureState failure,
      MemoryLedger ledger) {
    this.live = live;
    this.writer = writer;
    this.directory = directory;
    this.versions = versions;
    this.failure = failure;
    this.scheduler = config.scheduler();
    this.room = new LogPreallocator(config, writer, this::segmentBytes, ledger);
    this.segmentBytesMax = config.segmentBytes();
    this.spareFromBytes = config.shape().spareFromBytes();
    this.syncFromBytes = SYNC_FACTOR * spareFromBytes;
    this.retainedPart = config.reclaim().goal().retainedPart();
  }

  /** Takes over what the log had been given ahead of need before it was opened, null for none. */
  public void resume(@Nullable Segment empty) throws IOException {
    lock.lock();
    try {
      if (empty != null) {
        writer.resumeEmpty(empty);
        spare = empty;
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gets ready for a group of {@code bytes}, in a new segment if it does not fit the active one.
   */
  public void prepare(long bytes) throws IOException {
    if (writer.needsNewSegment(bytes, segmentBytes())) {
      startSegment();
    }
    writer.begin();
  }

  /**
   * Short segments as long as little is live: a file can be rewritten only once the log is through
   * with it, and is in the way as a whole until then. Longer ones where much is retained anyway.
   */
  private long segmentBytes() {
    long part =
        Math.max(retainedPart, live.get().version.liveBytes() / LIVE_BYTES_PER_SEGMENT_BYTE);
    return Math.min(segmentBytesMax, Math.max(SEGMENT_BYTES_MIN, part));
  }

  /**
   * Whether a group of {@code bytes} begins a new segment: there may be syncs to wait for then, its
   * own or others'.
   */
  public boolean wouldWait(long bytes) {
    return writer.needsNewSegment(bytes, segmentBytes());
  }

  public void append(Frame frame, long firstSequence, boolean alone) throws IOException {
    writer.append(frame, firstSequence, alone);
  }

  public void publish() throws IOException {
    writer.publish();
    Segment active = writer.active();
    if (active != null && active.publishedEnd() >= spareFromBytes) {
      spareNeeded(active);
      room.make(active);
    }
    syncNeeded();
  }

  /** When no background work is left. */
  public void free() {
    room.free();
  }

  /** Everything in front of this position is durable. */
  @Override
  public LogPosition durable() {
    return writer.durable();
  }

  /** Takes back what the active segment was given ahead of need. */
  public void cutRoom() {
    writer.cutRoom();
  }

  /** Forgets the group. Where its remains may come back, that is a failure of the store. */
  public void abort() {
    try {
      writer.abort();
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }

  /** Makes everything published durable. A failure is the store's. */
  @Override
  public void sync() {
    try {
      writer.sync();
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }

  /** Seals the active segment if it ends with remains that could not be cut off. */
  public void leaveRemains() {
    if (writer.isAbandoned()) {
      roll();
    }
  }

  /** Goes on in a new segment whatever the length of the active one. */
  public void roll() {
    try {
      startSegment();
    } catch (IOException e) {
      throw new StorageException("cannot begin a segment", e);
    }
  }

  /**
   * Puts an edit in force that says from where the log is replayed, and seals all segments that
   * have ended: one that is in front of that place and not sealed would not be found again.
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

  /** Has the manifest seal what has ended, for whoever needs to know now which files are whole. */
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

  /** As {@link #applySealing}, for an edit that seals the active segment too. */
  public void applySealingActive(VersionEdit edit) {
    boolean applied = false;
    try {
      applySealing(edit);
      applied = true;
    } finally {
      if (!applied) {
        // The edit may stand on the device all the same, and with it the seal.
        writer.abandonActive();
      }
    }
  }

  /** Leaves no segment without a use, and makes no more of them ahead of need. */
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
   * Gives back what was made ahead of need; not behind a segment that may end with the word that
   * the log goes on, for which nobody could seal it.
   */
  public void dropSpare() {
    lock.lock();
    try {
      boolean isEndKnown = writer.active() == null || !writer.isAbandoned();
      if (spare != null && isEndKnown) {
        leaving = spare;
        spare = null;
      }
      removeLeaving();
    } finally {
      lock.unlock();
    }
  }

  /** Guarded by the lock. */
  private void removeLeaving() {
    Segment unused = leaving;
    if (unused != null) {
      failure.guard(() -> versions.apply(new VersionEdit().removeSegment(unused.id())));
      leaving = null;
      live.installVersion(null);
    }
  }

  private void startSegment() throws IOException {
    lock.lock();
    try {
      removeLeaving();
      Segment next = spare;
      if (next == null) {
        next = create();
        spare = next;
      }
      Segment last = writer.active();
      if (last != null && writer.isAbandoned()) {
        // With remains behind it there can be no end; the manifest says where it is.
        applySealingActive(
            new VersionEdit().sealSegment(last.id(), last.publishedEnd(), writer.lastSequence()));
      } else if (last != null) {
        writer.endSegment();
        ended.add(last);
      }
      spare = null;
      writer.switchTo(next);
    } catch (Error e) {
      // Half way from one segment to the next, nothing may be written behind either.
      throw failure.fail(e);
    } finally {
      lock.unlock();
    }
  }

  /** Has a spare made, once in the life of each active segment: the leader makes do without. */
  private void spareNeeded(Segment active) {
    if (spare != null || active.id() == spareAskedIn) {
      return;
    }
    spareAskedIn = active.id();
    if (spareScheduled.compareAndSet(false, true)
        && scheduler.tryExecute(Scheduler.Lane.LOG, spareJob) != null) {
      spareScheduled.set(false);
    }
  }

  private void syncNeeded() {
    if (isSyncDue()
        && syncScheduled.compareAndSet(false, true)
        && scheduler.tryExecute(Scheduler.Lane.LOG, syncJob) != null) {
      syncScheduled.set(false);
    }
  }

  private boolean isSyncDue() {
    return writer.unsyncedBytes() >= syncFromBytes && live.get().memtables.size() > 1;
  }

  private void syncBehind() {
    try {
      while (live.isOpen() && isSyncDue()) {
        sync();
      }
    } catch (RuntimeException e) {
      // A failure of the store, which keeps it: whoever writes next will hear of it. The mark
      // stays, so that nothing is tried again.
      return;
    } catch (Error e) {
      // Of this thread alone, such as a lack of memory.
      syncScheduled.set(false);
      throw e;
    }
    syncScheduled.set(false);
    if (live.isOpen()) {
      // Whoever published meanwhile saw the mark.
      syncNeeded();
    }
  }

  private void makeSpare() {
    spareScheduled.set(false);
    lock.lock();
    try {
      boolean needed = spare == null && writer.active() != null && !closing;
      if (needed && live.isOpen() && !failure.hasFailed()) {
        removeLeaving();
        spare = create();
      }
    } catch (IOException | RuntimeException e) {
      // The leader will try itself when it needs a segment, and tell whoever writes then. What is
      // a failure of the store is kept as such.
      return;
    } finally {
      lock.unlock();
    }
  }

  /** Guarded by the lock. */
  private Segment create() throws IOException {
    Segment created = writer.createSegment(versions.newSegmentId());
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
      // What will be written lies in this segment: a cursor has to hold a version that has it.
      live.installVersion(null);
    } catch (RuntimeException | Error e) {
      // With another segment behind this one, which nobody here knows, the log had a gap.
      throw failure.fail(e);
    }
    return created;
  }

  private void syncCreated(Segment created) {
    try {
      writer.syncCreated(created);
    } catch (IOException e) {
      throw failure.fail(e);
    }
  }
}
