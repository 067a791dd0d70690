package io.kvsep.internal.vlog;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.jfr.FlightEvents;
import io.kvsep.internal.jfr.LogSyncEvent;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Appends frames to the active segment with positional writes, and syncs them.
 *
 * <p>One thread appends: {@link #begin}, {@link #append} for each frame of the group, then {@link
 * #publish}, or {@link #abort} after a failure. Any thread may {@link #sync} at any time.
 *
 * <p>Invariant: when {@link #sync} returns, every byte published before the call is durable, in all
 * segments. After a failed sync durability is unknown and the caller must stop.
 */
public final class LogWriter {
  private static final int STAGING_BYTES = 256 << 10;

  /** Longer frames are not staged. */
  private static final int GATHER_BYTES_MAX = 32 << 10;

  private final Storage storage;
  private final StoreId storeId;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;
  private final GrowingRegion stagingMemory;

  /** Streams frames through the staging memory, without growing it. */
  private final RecordSink streaming;

  private final NativeWindow window = new NativeWindow();

  private final Region header;

  private final NativeWindow headerWindow = new NativeWindow();
  private final AtomicLong bytesWritten = new AtomicLong();
  private final AtomicLong syncs = new AtomicLong();

  /** Written by the appending thread. */
  private volatile @Nullable Segment active;

  /** Total of all segments. Written by the appending thread. */
  private volatile long publishedBytes;

  // The fields up to abandoned, and staged, are accessed only by the appending thread.
  private long end;

  private long nextSequence;

  /** Position after the last detached segment. */
  private LogPosition detachedAt = LogPosition.START;

  private long groupStart;

  /** Whether a part of the group may have reached the file. */
  private boolean groupReached;

  private boolean abandoned;

  /** First failed sync. The system reports the failure once; another sync would seem to succeed. */
  @GuardedBy("syncLock")
  private @Nullable Throwable syncFailure;

  private int staged;

  /** Held during a whole sync; not needed to append or publish. */
  private final ReentrantLock syncLock = new ReentrantLock();

  /** The appending thread adds; the holder of syncLock removes. */
  private final Queue<Segment> sealedUnsynced = new ConcurrentLinkedQueue<>();

  /** Written under syncLock. */
  private volatile LogPosition durable = LogPosition.START;

  /** {@link #publishedBytes} when the last successful sync began. Written under syncLock. */
  private volatile long durableBytes;

  public LogWriter(Storage storage, StoreId storeId, Epochs<?> epochs, MemoryLedger ledger) {
    this.storage = storage;
    this.storeId = storeId;
    this.epochs = epochs;
    this.ledger = ledger;
    this.stagingMemory = new GrowingRegion(ledger, MemoryPurpose.COMMIT);
    stagingMemory.ensure(LogFormat.FRAME_HEADER_BYTES);
    this.streaming = new RecordSink(stagingMemory);
    this.header = ledger.allocate(MemoryPurpose.COMMIT, LogFormat.SEGMENT_HEADER_BYTES);
  }

  /**
   * Continues a recovered log.
   *
   * @param tail the replayed segments, ascending; they count as unsynced
   */
  public void resume(List<Segment> tail, long lastSequence) throws IOException {
    nextSequence = lastSequence + 1;
    for (Segment segment : tail) {
      if (segment.isSealed()) {
        sealedUnsynced.add(segment);
      } else {
        segment.resume();
        active = segment;
      }
      end = segment.publishedEnd();
      countPublished(end);
    }
  }

  /**
   * Creates a segment file; {@link #syncCreated} makes it durable, {@link #switchTo} activates it.
   * Called by one thread at a time, not necessarily the appending one.
   */
  public Segment createSegment(long id) throws IOException {
    Segment segment = Segment.create(storage, storeId, id, epochs, ledger);
    boolean written = false;
    try {
      new FileHeader(storeId, id).put(header, LogFormat.SEGMENT, headerWindow);
      segment.writable().write(headerWindow.over(header, 0, LogFormat.SEGMENT_HEADER_BYTES), 0);
      written = true;
    } finally {
      if (!written) {
        segment.free();
        storage.delete(segment.name());
      }
    }
    bytesWritten.addAndGet(LogFormat.SEGMENT_HEADER_BYTES);
    segment.publish(LogFormat.SEGMENT_HEADER_BYTES);
    return segment;
  }

  /** On failure the file is deleted and the store has failed. */
  public void syncCreated(Segment segment) throws IOException {
    try {
      segment.sync();
      storage.syncDirectory();
    } catch (IOException | RuntimeException e) {
      segment.free();
      try {
        storage.delete(segment.name());
      } catch (IOException also) {
        e.addSuppressed(also);
      }
      throw e;
    }
  }

  /** Opens a recovered empty segment, for {@link #switchTo}. */
  public void resumeEmpty(Segment segment) throws IOException {
    segment.resume();
  }

  /**
   * Writes the end marker. Called by the appending thread with nothing staged. After a failure the
   * marker may exist: the segment is abandoned and must be sealed before it.
   */
  public void endSegment() throws IOException {
    Segment segment = Objects.requireNonNull(active);
    boolean ended = false;
    try {
      int place = LogFormat.place(segment.id(), end);
      Region staging = stagingMemory.region();
      LogFormat.putFrameHeader(staging, place, 0, 0, nextSequence, durable, window);
      segment.writable().write(window.over(staging, 0, LogFormat.FRAME_HEADER_BYTES), end);
      ended = true;
    } finally {
      if (!ended) {
        abandonActive();
      }
    }
    end += LogFormat.FRAME_HEADER_BYTES;
    bytesWritten.addAndGet(LogFormat.FRAME_HEADER_BYTES);
    segment.publish(end);
    countPublished(LogFormat.FRAME_HEADER_BYTES);
  }

  /** Seals the active segment first. */
  public void switchTo(Segment segment) {
    Segment sealed = active;
    if (sealed != null) {
      sealed.seal(lastSequence());
      // Before active changes: a sync reads active, then this queue.
      sealedUnsynced.add(sealed);
    }
    active = segment;
    abandoned = false;
    end = segment.publishedEnd();
    countPublished(end);
  }

  /**
   * Detaches the active segment, which is durable; the next frame needs a new one. Called by the
   * appending thread.
   */
  public void detach() {
    Segment sealed = active;
    if (sealed != null) {
      sealed.seal(lastSequence());
      sealed.closeFile();
      detachedAt = new LogPosition(sealed.id() + 1, 0);
    }
    active = null;
    end = 0;
  }

  /**
   * Stops appending to the active segment: it may be sealed at its end, or the remains of a failed
   * group may follow.
   */
  public void abandonActive() {
    abandoned = true;
  }

  public boolean isAbandoned() {
    return abandoned;
  }

  public boolean needsNewSegment(long frameLength, long segmentBytes) {
    return active == null
        || abandoned
        || (end > LogFormat.SEGMENT_HEADER_BYTES
            && frameLength > segmentBytes - end - LogFormat.FRAME_HEADER_BYTES);
  }

  /** Called by the appending thread. */
  public boolean holdsFrames() {
    return active != null && end > LogFormat.SEGMENT_HEADER_BYTES;
  }

  public @Nullable Segment active() {
    return active;
  }

  /** Lowest possible position of the next frame. */
  public LogPosition end() {
    Segment segment = active;
    return segment == null
        ? LogPosition.later(durable, detachedAt)
        : new LogPosition(segment.id(), end);
  }

  /** Called by the appending thread. */
  public long lastSequence() {
    return nextSequence - 1;
  }

  public void begin() {
    groupStart = end;
    groupReached = false;
    staged = 0;
  }

  /**
   * Appends a frame to the active segment.
   *
   * @param alone whether the group has no other frame, so that staging is useless
   */
  public void append(Frame frame, long firstSequence, boolean alone) throws IOException {
    Segment segment = Objects.requireNonNull(active);
    Region encoded = frame.place(segment.id(), end, firstSequence, durable);
    // First, because a failed write uses up its sequence numbers.
    nextSequence = firstSequence + frame.recordCount();
    long length = frame.length();
    if (encoded == null) {
      writeStaged();
      groupReached = true;
      streaming.toFile(segment.writable(), end, STAGING_BYTES);
      frame.stream(streaming, durable);
      bytesWritten.addAndGet(length);
    } else if (alone || length >= GATHER_BYTES_MAX) {
      writeStaged();
      groupReached = true;
      segment.writable().write(window.over(encoded, 0, (int) length), end);
      bytesWritten.addAndGet(length);
    } else {
      if (length > STAGING_BYTES - staged) {
        writeStaged();
      }
      long needed = staged + length;
      stagingMemory
          .ensure(needed < GATHER_BYTES_MAX ? needed : STAGING_BYTES)
          .put(staged, encoded, 0, length);
      staged += (int) length;
    }
    end += length;
  }

  /** Writes the staged frames and makes the group readable. Returns the active segment. */
  public Segment publish() throws IOException {
    writeStaged();
    Segment segment = Objects.requireNonNull(active);
    segment.publish(end);
    countPublished(end - groupStart);
    return segment;
  }

  /**
   * Discards the group. What reached the file is truncated durably before the failure is reported:
   * otherwise recovery could take the group for a committed one, even after a power failure that
   * undoes the truncation. If truncation fails, as on Windows while the segment is mapped, this
   * segment is sealed before the remains and the log continues in a new one. In case that never
   * happens, zeros overwrite the first header of the remains, which takes no disk space, and
   * recovery stops there.
   *
   * @throws IOException if the sync fails, with the consequence as in {@link #sync}
   */
  public void abort() throws IOException {
    end = groupStart;
    staged = 0;
    Segment segment = Objects.requireNonNull(active);
    if (!groupReached) {
      return;
    }
    try {
      if (segment.writable().length() <= groupStart) {
        return;
      }
      segment.writable().truncate(groupStart);
    } catch (IOException e) {
      abandonActive();
      if (!overwriteRemains(segment)) {
        return;
      }
    }
    syncLock.lock();
    try {
      requireSyncable();
      sync(segment);
    } finally {
      syncLock.unlock();
    }
  }

  /** Returns whether the remains now begin with an invalid header, where recovery stops. */
  private boolean overwriteRemains(Segment segment) {
    Region staging = stagingMemory.region();
    staging.fill(0, LogFormat.FRAME_HEADER_BYTES, (byte) 0);
    try {
      segment.writable().write(window.over(staging, 0, LogFormat.FRAME_HEADER_BYTES), groupStart);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @GuardedBy("syncLock")
  private void sync(Segment segment) throws IOException {
    try {
      segment.sync();
    } catch (IOException | RuntimeException | Error e) {
      syncFailure = e;
      throw e;
    }
    syncs.incrementAndGet();
  }

  @GuardedBy("syncLock")
  private void requireSyncable() throws IOException {
    if (syncFailure != null) {
      throw new IOException("a sync of the log has failed before", syncFailure);
    }
  }

  /**
   * Makes everything published before the call durable, with at most one sync per segment. After a
   * failure every later call fails.
   */
  public void sync() throws IOException {
    long wanted = publishedBytes;
    syncLock.lock();
    try {
      requireSyncable();
      if (durableBytes >= wanted) {
        return;
      }
      LogSyncEvent event = FlightEvents.beginLogSync();
      int synced = 0;
      // In this order: the counted bytes are in sealed segments or below the end of the active one.
      // The next sync covers segments that the log moves on to.
      long covered = publishedBytes;
      Segment segment = active;
      LogPosition reached = segment == null ? durable : endOf(segment);
      Segment sealed = sealedUnsynced.peek();
      while (sealed != null && (segment == null || sealed.id() < segment.id())) {
        sync(sealed);
        sealed.closeFile();
        synced++;
        sealedUnsynced.remove();
        reached = segment == null ? endOf(sealed) : reached;
        sealed = sealedUnsynced.peek();
      }
      if (segment != null) {
        sync(segment);
        synced++;
      }
      record(event, synced, covered - durableBytes);
      durable = reached;
      durableBytes = covered;
    } finally {
      syncLock.unlock();
    }
  }

  private void record(@Nullable LogSyncEvent event, int synced, long bytes) {
    if (event == null) {
      return;
    }
    event.end();
    if (event.shouldCommit()) {
      event.store = storage.location();
      event.segments = synced;
      event.bytes = bytes;
      event.commit();
    }
  }

  @SuppressWarnings(
      "NonAtomicVolatileUpdate") // the appending thread is the only one that writes it
  private void countPublished(long bytes) {
    publishedBytes += bytes;
  }

  private static LogPosition endOf(Segment segment) {
    return new LogPosition(segment.id(), segment.publishedEnd());
  }

  /** Everything before this position is durable. */
  public LogPosition durable() {
    return durable;
  }

  public boolean isDirty() {
    return unsyncedBytes() > 0;
  }

  public long unsyncedBytes() {
    return publishedBytes - durableBytes;
  }

  public long bytesWritten() {
    return bytesWritten.get();
  }

  public long syncs() {
    return syncs.get();
  }

  public void free() {
    stagingMemory.close();
    header.free();
  }

  private void writeStaged() throws IOException {
    if (staged > 0) {
      Segment segment = Objects.requireNonNull(active);
      groupReached = true;
      segment.writable().write(window.over(stagingMemory.region(), 0, staged), end - staged);
      bytesWritten.addAndGet(staged);
      staged = 0;
    }
  }
}
