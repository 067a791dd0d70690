package io.kvsep.internal.vlog;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.concurrent.NonAllocatingLock;
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
import org.jspecify.annotations.Nullable;

/**
 * Appends frames to the active segment with positional writes and syncs them.
 *
 * <p>Protocol of the one appending thread: {@link #begin}, {@link #append} for each frame of the
 * group, {@link #publish}; or {@link #abort} when one of them failed, which leaves the log's end
 * where it was. {@link #sync} may be called by any thread at any time.
 *
 * <p>Promise: once {@link #sync} has returned, every byte published before it began is durable, in
 * this and all earlier segments. After a failed sync nothing can be promised any more; the caller
 * must not go on.
 */
public final class LogWriter {
  private static final int STAGING_BYTES = 256 << 10;

  /** Frames from this length up are written from where they lie instead of being gathered. */
  private static final int GATHER_BYTES_MAX = 32 << 10;

  private final Storage storage;
  private final StoreId storeId;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;
  private final GrowingRegion stagingMemory;
  private final Region staging;

  /** Of streamed frames, which go through what is gathered in otherwise; never makes it grow. */
  private final RecordSink streaming;

  private final NativeWindow window = new NativeWindow();

  /** Of the segment that is being created. */
  private final Region header;

  private final NativeWindow headerWindow = new NativeWindow();
  private final AtomicLong bytesWritten = new AtomicLong();
  private final AtomicLong syncs = new AtomicLong();

  /** Written by the appending thread, read by any. */
  private volatile @Nullable Segment active;

  /** Bytes ever published, in all segments; written by the appending thread. */
  private volatile long publishedBytes;

  // Of the appending thread.
  private long end;

  /** Above that of every record that was appended. */
  private long nextSequence;

  /** Behind the segment that was let go of last. */
  private LogPosition detachedAt = LogPosition.START;

  private long groupStart;

  /** Whether some of the group may have reached the file. */
  private boolean groupReached;

  /** Whether nothing may be appended to the active segment any more. */
  private boolean abandoned;

  /**
   * A sync of the log that failed. Systems tell that once: to whoever synced again it would look as
   * if all were durable. Guarded by syncLock.
   */
  private @Nullable Throwable syncFailure;

  private int staged;

  /** Held for as long as a sync takes, which the appending thread does not wait for. */
  private final NonAllocatingLock syncLock = new NonAllocatingLock();

  /** Added to by the appending thread; taken from by whoever holds the lock. */
  private final Queue<Segment> sealedUnsynced = new ConcurrentLinkedQueue<>();

  // Both written under the lock.
  private volatile LogPosition durable = LogPosition.START;

  /** What {@link #publishedBytes} was when the last sync began. */
  private volatile long durableBytes;

  public LogWriter(Storage storage, StoreId storeId, Epochs<?> epochs, MemoryLedger ledger) {
    this.storage = storage;
    this.storeId = storeId;
    this.epochs = epochs;
    this.ledger = ledger;
    this.stagingMemory = new GrowingRegion(ledger, MemoryPurpose.COMMIT);
    this.staging = stagingMemory.ensure(STAGING_BYTES);
    this.streaming = new RecordSink(stagingMemory);
    this.header = ledger.allocate(MemoryPurpose.COMMIT, LogFormat.SEGMENT_HEADER_BYTES);
  }

  /**
   * Goes on with a recovered log.
   *
   * @param tail the segments from which something was replayed, ascending; they count as unsynced
   * @param lastSequence of all records in the log
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
   * Creates the file of a segment; {@link #syncCreated} makes it durable and {@link #switchTo}
   * starts to use it. Called by one thread at a time, not necessarily the appending one.
   */
  public Segment createSegment(long id) throws IOException {
    Segment segment = Segment.create(storage, storeId, id, epochs, ledger);
    boolean written = false;
    try {
      new FileHeader(storeId, id).put(header, LogFormat.SEGMENT, headerWindow);
      segment.write(headerWindow.over(header, 0, LogFormat.SEGMENT_HEADER_BYTES), 0);
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

  /** Makes a created segment durable. A failure means that the store has failed; the file goes. */
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

  /** Takes over a segment that was found empty, for {@link #switchTo}. */
  public void resumeEmpty(Segment segment) throws IOException {
    segment.resume();
  }

  /**
   * Writes the end behind the last frame of the active segment: it is complete, and what comes next
   * is in the next segment. Called by the appending thread with nothing gathered. When it fails, it
   * may or may not stand there: the segment is abandoned, and has to be sealed in front of it.
   */
  public void endSegment() throws IOException {
    Segment segment = Objects.requireNonNull(active);
    boolean ended = false;
    try {
      int place = LogFormat.place(segment.id(), end);
      LogFormat.putFrameHeader(staging, place, 0, 0, nextSequence, durable, window);
      segment.write(window.over(staging, 0, LogFormat.FRAME_HEADER_BYTES), end);
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

  /**
   * Gives the active segment room up to {@code length}, which is beyond what it has. Called by the
   * appending thread with nothing gathered.
   */
  public void makeRoom(long length) throws IOException {
    staging.putByte(0, (byte) 0);
    Objects.requireNonNull(active).makeRoom(window.over(staging, 0, 1), length);
  }

  /** Takes back what the active segment was given; it ends behind its last frame. */
  public void cutRoom() {
    Segment segment = active;
    if (segment != null) {
      segment.cutRoom();
    }
  }

  /** Seals the active segment and appends to {@code segment} from now on. */
  public void switchTo(Segment segment) {
    Segment sealed = active;
    if (sealed != null) {
      sealed.seal(lastSequence());
      // Before it stops to be the active one: a sync looks at that first.
      sealedUnsynced.add(sealed);
    }
    active = segment;
    abandoned = false;
    end = segment.publishedEnd();
    countPublished(end);
  }

  /**
   * Lets go of the active segment, of which everything is durable; the next frame needs a new one.
   * Called by the appending thread.
   */
  public void detach() {
    Segment sealed = active;
    if (sealed != null) {
      sealed.cutRoom();
      sealed.seal(lastSequence());
      sealed.closeFile();
      detachedAt = new LogPosition(sealed.id() + 1, 0);
    }
    active = null;
    end = 0;
  }

  /**
   * Appends nothing more to the active segment: it may be sealed at its present end, or have
   * remains of a failed group behind it.
   */
  public void abandonActive() {
    abandoned = true;
  }

  public boolean isAbandoned() {
    return abandoned;
  }

  /** Whether a frame of this length belongs into a new segment. */
  public boolean needsNewSegment(long frameLength, long segmentBytes) {
    return active == null
        || abandoned
        || (end > LogFormat.SEGMENT_HEADER_BYTES
            && frameLength > segmentBytes - end - LogFormat.FRAME_HEADER_BYTES);
  }

  /** Whether anything was written into the active segment; asked by the appending thread. */
  public boolean holdsFrames() {
    return active != null && end > LogFormat.SEGMENT_HEADER_BYTES;
  }

  public @Nullable Segment active() {
    return active;
  }

  /** Where the next frame goes, at the earliest. */
  public LogPosition end() {
    Segment segment = active;
    return segment == null
        ? LogPosition.later(durable, detachedAt)
        : new LogPosition(segment.id(), end);
  }

  /** No record has a higher number. For the appending thread. */
  public long lastSequence() {
    return nextSequence - 1;
  }

  public void begin() {
    groupStart = end;
    groupReached = false;
    staged = 0;
  }

  /**
   * Adds a frame to the group.
   *
   * @param alone whether it is the only one, so that there is nothing to gather
   */
  public void append(Frame frame, long firstSequence, boolean alone) throws IOException {
    Segment segment = Objects.requireNonNull(active);
    frame.place(segment.id(), end, firstSequence, durable);
    // First: a write that fails has used its numbers, too.
    nextSequence = firstSequence + frame.recordCount();
    long length = frame.length();
    if (frame.isStreamed()) {
      writeStaged();
      groupReached = true;
      streaming.toFile(segment.writable(), end, STAGING_BYTES);
      frame.stream(streaming, durable);
      bytesWritten.addAndGet(length);
    } else if (alone || length >= GATHER_BYTES_MAX) {
      writeStaged();
      groupReached = true;
      segment.write(window.over(frame.region(), 0, (int) length), end);
      bytesWritten.addAndGet(length);
    } else {
      if (length > STAGING_BYTES - staged) {
        writeStaged();
      }
      staging.put(staged, frame.region(), 0, length);
      staged += (int) length;
    }
    end += length;
  }

  /** Writes what is gathered; the group can be read from now on. */
  public void publish() throws IOException {
    writeStaged();
    Segment segment = Objects.requireNonNull(active);
    segment.publish(end);
    countPublished(end - groupStart);
  }

  /**
   * Forgets the group. What of it reached the file is cut off, and the cut is durable before
   * anybody hears that the group failed: otherwise it could be taken for a committed one, now or
   * after a power failure that undoes the cut. Where cutting fails, as on Windows wherever the
   * segment is mapped, the log goes on in a new segment, before which this one is sealed. In case
   * that never happens, zeros are written over the first header of the remains, which takes no
   * space: recovery goes no further.
   *
   * @throws IOException when that sync failed, which is as bad as with {@link #sync}
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
      segment.forgetRoom();
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

  /** Recovery reads up to the first header that does not hold. Whether there is none now. */
  private boolean overwriteRemains(Segment segment) {
    staging.fill(0, LogFormat.FRAME_HEADER_BYTES, (byte) 0);
    try {
      segment.write(window.over(staging, 0, LogFormat.FRAME_HEADER_BYTES), groupStart);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private void sync(Segment segment) throws IOException {
    try {
      segment.sync();
    } catch (IOException | RuntimeException | Error e) {
      syncFailure = e;
      throw e;
    }
    syncs.incrementAndGet();
  }

  private void requireSyncable() throws IOException {
    if (syncFailure != null) {
      throw new IOException("a sync of the log has failed before", syncFailure);
    }
  }

  /**
   * Makes everything published before the call durable; at most one sync per segment. Once it has
   * failed it fails for ever.
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
      // Read in this order: what is counted lies in the sealed segments or below the active
      // one's end. The log may go on in others meanwhile, which are left to the next sync.
      long covered = publishedBytes;
      Segment segment = active;
      LogPosition reached = segment == null ? durable : endOf(segment);
      Segment sealed = sealedUnsynced.peek();
      while (sealed != null && (segment == null || sealed.id() < segment.id())) {
        // Here rather than where it was sealed: the system may have that wait for the device.
        sealed.cutRoom();
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

  /** Whether something is published that no sync has covered. */
  public boolean isDirty() {
    return unsyncedBytes() > 0;
  }

  /** How much is published that no sync has covered. */
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
      segment.write(window.over(staging, 0, staged), end - staged);
      bytesWritten.addAndGet(staged);
      staged = 0;
    }
  }
}
