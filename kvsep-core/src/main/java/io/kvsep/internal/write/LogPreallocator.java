package io.kvsep.internal.write;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes page cache pages ready before the log is written. A write at a file's end makes the system
 * find, clear and map a page per 4 KiB, which takes longer than the copy, and several times as long
 * on a virtual machine that requests memory from its host. So the active segment gets preallocated
 * space, zeros after its end that take no space on the device, and a background job reads it ahead
 * of the writer, sharing the work between two processors. No thread waits for these reads; if they
 * are late or fail, writes are only slower.
 *
 * <p>{@link #make} is for the commit leader.
 */
final class LogPreallocator {
  /** Reads per preallocated space. */
  private static final long PIECES = 24;

  /**
   * Pieces between the writer and the first read. The writer fills them itself meanwhile; it would
   * have to wait for a nearer read.
   */
  private static final long LEAD_PIECES = 4;

  private final LogWriter writer;
  private final LongSupplier segmentBytes;
  private final Scheduler scheduler;
  private final MemoryLedger ledger;
  private final long fromBytes;
  private final long roomBytes;
  private final int pieceBytes;
  private final AtomicBoolean reading = new AtomicBoolean();

  /** Preallocated: scheduling must not allocate. */
  private final Runnable readJob = this::read;

  /** The segment extended last. */
  private volatile @Nullable Segment roomy;

  /** Segment whose extension failed. Accessed only by the leader. */
  private long refusedIn;

  // Accessed only by the job, which never runs twice at once.
  private @Nullable Region scratch;
  private final NativeWindow window = new NativeWindow();
  private long readIn;
  private long readEnd;

  /**
   * @param segmentBytes planned length of the active segment
   */
  LogPreallocator(
      EngineConfig config, LogWriter writer, LongSupplier segmentBytes, MemoryLedger ledger) {
    this.writer = writer;
    this.segmentBytes = segmentBytes;
    this.scheduler = config.scheduler();
    this.ledger = ledger;
    this.fromBytes = config.shape().spareFromBytes();
    this.roomBytes = config.shape().roomBytes();
    this.pieceBytes = (int) Long.highestOneBit(Math.max(1, roomBytes / PIECES));
  }

  /**
   * Extends the space when two thirds are used. Called after each group with nothing gathered.
   * Never fails, since the group is written.
   */
  void make(Segment active) {
    long end = active.publishedEnd();
    long roomEnd = Math.max(end, active.roomEnd());
    if (end < fromBytes || roomEnd - end >= roomBytes / 3 || active.id() == refusedIn) {
      return;
    }
    try {
      long wanted = Math.min(segmentBytes.getAsLong(), end + roomBytes) / pieceBytes * pieceBytes;
      if (wanted <= roomEnd) {
        return;
      }
      writer.makeRoom(wanted);
    } catch (IOException | RuntimeException | Error e) {
      // The next write reports what is wrong with the device or the heap.
      refusedIn = active.id();
      return;
    }
    roomy = active;
    readAhead();
  }

  private void readAhead() {
    if (reading.compareAndSet(false, true)
        && scheduler.tryExecute(Scheduler.Lane.LOG, readJob) != null) {
      reading.set(false);
    }
  }

  private void read() {
    Segment begun = roomy;
    long roomEnd = begun == null ? 0 : begun.roomEnd();
    try {
      while (begun != null && readNext(begun, roomEnd)) {
        begun = roomy;
        roomEnd = begun == null ? 0 : begun.roomEnd();
      }
    } catch (IOException | RuntimeException e) {
      // Optional work; the next extension tries again.
      roomEnd = Long.MAX_VALUE;
    } finally {
      reading.set(false);
    }
    Segment now = roomy;
    if (now != null && (now != begun || now.roomEnd() > roomEnd)) {
      // Extended while this job ended; the leader saw it running.
      readAhead();
    }
  }

  private boolean readNext(Segment segment, long roomEnd) throws IOException {
    if (segment.id() != readIn) {
      readIn = segment.id();
      readEnd = 0;
    }
    long lead = segment.publishedEnd() / pieceBytes * pieceBytes + LEAD_PIECES * pieceBytes;
    long from = Math.max(readEnd, lead);
    if (pieceBytes > roomEnd - from) {
      return false;
    }
    readEnd = from + pieceBytes;
    Region target = scratch;
    if (target == null) {
      target = ledger.allocate(MemoryPurpose.COMMIT, pieceBytes);
      scratch = target;
    }
    return segment.readRoom(window.over(target, 0, pieceBytes), from) == pieceBytes;
  }

  /** Call when no job runs any more. */
  void free() {
    Region target = scratch;
    if (target != null) {
      target.free();
    }
  }
}
