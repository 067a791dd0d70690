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
 * Has the system get pages ready for the log before it is written. A write into a file's end makes
 * the system find, clear and enter a page for each 4 KiB, which takes longer than the copy, and
 * several times as long on a virtual machine that has to ask its host for the memory. So the active
 * segment gets <em>room</em>, a stretch of zeros behind its end that takes no space on the device,
 * and a thread of its own reads some of it ahead of the writer: then the pages are there, and two
 * processors share the work. Reading changes nothing, so nobody has to wait for it, and where it
 * comes too late or fails, writes are as slow as without.
 *
 * <p>{@link #make} is for the commit leader.
 */
final class LogPreallocator {
  /** Parts of the room: what is read at once. */
  private static final long PIECES = 24;

  /**
   * How far ahead of the writer reading begins. While these are read, he fills what lies in front
   * of them by himself; if they were the next, he would only wait for them.
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

  /** Made once: there may be no memory for it when it is needed. */
  private final Runnable readJob = this::read;

  /** Which had room made last. */
  private volatile @Nullable Segment roomy;

  /** Of the leader: a segment that got none when it asked. */
  private long refusedIn;

  // Of the job, of which one runs at a time.
  private @Nullable Region scratch;
  private final NativeWindow window = new NativeWindow();
  private long readIn;
  private long readEnd;

  /**
   * Room for the active segment of a log.
   *
   * @param segmentBytes how long that will become
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
   * Called behind each group, with nothing gathered: makes room when two thirds of it are used up.
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
      // Whoever writes next will hear of what the device has, or memory.
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
      // Reading ahead is all that this was for. The next room has it tried again.
      roomEnd = Long.MAX_VALUE;
    } finally {
      reading.set(false);
    }
    Segment now = roomy;
    if (now != null && (now != begun || now.roomEnd() > roomEnd)) {
      // More was made while this ended, and whoever made it saw that somebody reads.
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

  /** When no job is at work any more. */
  void free() {
    Region target = scratch;
    if (target != null) {
      target.free();
    }
  }
}
