package io.kvsep.internal.write;

import io.kvsep.error.StorageException;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.reclaim.ReclaimPressure;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.FrameEntryReader;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Puts committed frames into the memtable and holds writers back when background work does not keep
 * up: first a little and then more, in proportion to what they write, and to a stop only at the
 * end. Used by one thread at a time, the commit leader or recovery.
 */
public final class MemtableWriter implements AutoCloseable {
  /** Bytes a second that are let through when the slow-down begins; less the nearer the stop. */
  private static final long SLOW_BYTES_PER_SECOND = 128L << 20;

  /** Shorter delays are added up until they are worth parking for. */
  private static final long PARK_NANOS_MIN = 1_000_000;

  private static final long DELAY_NANOS_MAX = 1_000_000_000;

  /** Pressure of garbage from which on writers are slowed down: before there is too much. */
  private static final double PRESSURE_SLOWDOWN = 0.6;

  /** The same for all garbage, whether anybody knows of it or not. */
  private static final double CROWDING_SLOWDOWN = 0.6;

  /** How many times these bytes are let through then, by how much less the more garbage. */
  private static final double PRESSED_MAX = 2;

  private static final double PRESSURE_STEP = 2.5;
  private static final double CROWDING_STEP = 6;

  /** What is let through however much garbage there is. */
  private static final double PRESSED_MIN = 0.125;

  /** A memtable covers at most that part of the live bytes; most of the time there are two. */
  private static final long LIVE_BYTES_PER_LOG_BYTE = 16;

  /** What becomes of a frame where as many memtables as there may be cannot be written out. */
  private enum WhenStuck {
    /** Nothing was written yet: it is refused. */
    REFUSE,
    /** It is in the log, and its commit must not fail any more: it waits. */
    WAIT,
    /** It was found in the log by an open, which may fail: nothing is lost by that. */
    GIVE_UP
  }

  private final CurrentReadState live;
  private final LogWriter log;
  private final SegmentDirectory directory;
  private final MemoryLedger ledger;
  private final EngineConfig.Shape shape;
  private final RandomGenerator random;
  private final CompactionScheduler background;
  private final ReclaimPressure reclaim;
  private final FrameEntryReader entries;
  private final boolean readOnly;
  private final Memtable.Splice splice = new Memtable.Splice();
  private final WriteStalls stalls;
  private long coveredLogBytes;
  private long owedNanos;
  private volatile boolean closing;

  public MemtableWriter(
      EngineConfig config,
      CurrentReadState live,
      LogWriter log,
      SegmentDirectory directory,
      MemoryLedger ledger,
      CompactionScheduler background,
      ReclaimPressure reclaim) {
    this.live = live;
    this.log = log;
    this.directory = directory;
    this.ledger = ledger;
    this.shape = config.shape();
    this.random = config.random();
    this.background = background;
    this.reclaim = reclaim;
    this.readOnly = config.mode().readOnly();
    this.stalls = new WriteStalls(config, live);
    this.entries = new FrameEntryReader(ledger, config.inlineValueBytesMax());
  }

  public WriteStalls stalls() {
    return stalls;
  }

  /**
   * Gets ready to take a group, waiting for background work where necessary. When that cannot go on
   * because the device refuses, the group is refused too, before anything is written.
   */
  void makeRoom(long logBytes, long indexBytes, long recordCount) {
    pace(logBytes);
    if (isFull(live.get().active(), logBytes, indexBytes, recordCount)) {
      switchMemtable(log.end());
    }
  }

  /** Whether {@link #makeRoom} would hold the writer up, or is slowing writers down. */
  boolean wouldWait(long logBytes, long indexBytes, long recordCount) {
    ReadState view = live.get();
    return view.version.tables(0).length >= shape.levelZeroSlowdown()
        || garbageExcess() >= 0
        || view.active().insertMayTakeLong()
        || (view.memtables.size() >= shape.memtablesMax()
            && isFull(view.active(), logBytes, indexBytes, recordCount));
  }

  private boolean isFull(Memtable active, long logBytes, long indexBytes, long recordCount) {
    if (active.isEmpty()) {
      return false;
    }
    // Should it be more after all, the rest goes to the next memtable.
    long needed = indexBytes + Memtable.arenaOverhead(recordCount);
    return needed > shape.memtableBytes() - active.allocatedBytes()
        || coversEnough(active, logBytes);
  }

  /**
   * Whatever a memtable replaces is garbage that nobody knows of before it is flushed. So what it
   * may cover of the log depends on what the store holds; and since short tombstones cover little
   * but may replace long values, an entry counts for no less than those in the tables do. While as
   * many memtables as there may be wait to be written out, the active one goes on to the most that
   * any may cover: a writer that waits then would often wait for nothing but the log's sync, and
   * the first flush of a process takes many times as long as others. Where the store does not fit
   * into memory, none covers more than its values may take of that until they are in order.
   */
  private boolean coversEnough(Memtable active, long logBytes) {
    ReadState view = live.get();
    Version version = view.version;
    long most = Math.min(shape.memtableLogBytesMax(), background.coveredBytesMax(version));
    if (view.memtables.size() < shape.memtablesMax()) {
      long part = version.liveBytes() / LIVE_BYTES_PER_LOG_BYTE;
      most = Math.min(most, Math.max(shape.memtableLogBytesMin(), part));
    }
    double average = version.liveBytes() / (double) Math.max(1, version.entryCount());
    return logBytes > most - coveredLogBytes || active.entryCount() * average > most;
  }

  /** Hands the active memtable to the flush and starts another one. */
  public void switchMemtable(LogPosition logStart) {
    switchMemtable(logStart, WhenStuck.REFUSE);
  }

  /** Puts the records of a frame that is in the log into the memtable. */
  void insert(Frame frame) {
    entries.over(frame, directory);
    insertAll(entries, frame.segment(), frame.offset(), WhenStuck.WAIT);
    if (frame.isStreamed()) {
      // It was read from the file, and nobody has compared checksums.
      Region.requirePagesRead();
    }
    coveredLogBytes += frame.length();
  }

  /** Puts the entries of a frame that recovery has found into the memtable. */
  public void replay(FrameEntryReader source, long segment, long offset) {
    insertAll(source, segment, offset, WhenStuck.GIVE_UP);
  }

  /**
   * Nobody waits any more for a flush that fails: closing waits for whoever writes, and nothing but
   * closing may help there. The rest of a frame takes the memtables that it needs.
   */
  public void endWaits() {
    closing = true;
  }

  /**
   * Puts the entries of one frame into the memtable; a frame may be larger than a memtable, and is
   * then replayed whole as long as any of its memtables is not flushed.
   */
  private void insertAll(FrameEntryReader source, long segment, long offset, WhenStuck whenStuck) {
    for (Entry entry = source.next(); entry != null; entry = source.next()) {
      while (!live.get().active().insert(entry, splice)) {
        if (live.get().active().isEmpty()) {
          throw new IllegalStateException("an entry is longer than a memtable");
        }
        switchMemtable(new LogPosition(segment, offset), whenStuck);
      }
    }
  }

  /** An empty memtable for what comes at {@code logStart} and later, the first of this store. */
  public Memtable firstMemtable(LogPosition logStart) {
    return new Memtable(ledger, shape.memtableBytes(), logStart, random.nextLong());
  }

  private Memtable newMemtable(LogPosition logStart) {
    Memtable before = live.get().active();
    return new Memtable(ledger, shape.memtableBytes(), logStart, random.nextLong(), before);
  }

  /**
   * As above. A commit that must not fail takes one memtable more than there should be when flushes
   * do, and only then waits: what is a little longer than was thought needs no more, and its writer
   * goes on. A store that is open for reading only keeps them all.
   */
  private void switchMemtable(LogPosition logStart, WhenStuck whenStuck) {
    if (readOnly) {
      live.addMemtable(newMemtable(logStart));
      return;
    }
    background.flushNeeded();
    if (live.get().memtables.size() >= shape.memtablesMax()) {
      awaitFlush(whenStuck);
    }
    live.addMemtable(newMemtable(logStart));
    coveredLogBytes = 0;
    background.flushNeeded();
  }

  @Override
  public void close() {
    entries.close();
  }

  private void pace(long logBytes) {
    int tables = live.get().version.tables(0).length;
    if (tables >= shape.levelZeroStop() && !background.isLevelZeroStuck()) {
      awaitCompaction();
      tables = live.get().version.tables(0).length;
    }
    double excess = garbageExcess();
    if (tables < shape.levelZeroSlowdown() && excess < 0) {
      owedNanos = 0;
      return;
    }
    double range = Math.max(1, shape.levelZeroStop() - shape.levelZeroSlowdown());
    double room = Math.max(1, shape.levelZeroStop() - tables) / range;
    double relief = Math.max(PRESSED_MIN, PRESSED_MAX - excess);
    boolean crowded = tables >= shape.levelZeroSlowdown() && room <= relief;
    double share = crowded ? room : relief;
    owedNanos += (long) (logBytes * 1e9 / (SLOW_BYTES_PER_SECOND * share));
    if (owedNanos >= PARK_NANOS_MIN) {
      long delayNanos = Math.min(owedNanos, DELAY_NANOS_MAX);
      owedNanos = 0;
      stalls.begin();
      Uninterruptibles.pause(delayNanos);
      stalls.end(
          crowded ? WriteStalls.Cause.LEVEL_ZERO_SLOWDOWN : WriteStalls.Cause.GARBAGE_SLOWDOWN,
          delayNanos);
    }
  }

  /** By how much there is more garbage than is let pass without a slow-down; negative for less. */
  private double garbageExcess() {
    double pressure = reclaim.isRelieved() ? reclaim.get() : 0;
    double crowding = reclaim.isRelieved() ? reclaim.crowding() : 0;
    return Math.max(
        PRESSURE_STEP * (pressure - PRESSURE_SLOWDOWN),
        CROWDING_STEP * (crowding - CROWDING_SLOWDOWN));
  }

  private void awaitFlush(WhenStuck whenStuck) {
    stalls.begin();
    try {
      live.prepareFlushes();
      Throwable tried = null;
      long seen = live.changes();
      while (live.get().memtables.size() >= shape.memtablesMax()) {
        background.check();
        Throwable error = background.flushError();
        if (whenStuck == WhenStuck.WAIT && error != null && mayExceed()) {
          break;
        }
        if (whenStuck != WhenStuck.REFUSE && error != null && error != tried) {
          // It may have been for want of a thread, and here is one. As often as the background
          // tries, and no more: each try may fill a full disk again.
          background.flushWaiting();
          tried = background.flushError();
          continue;
        }
        if (whenStuck != WhenStuck.WAIT) {
          throwIfStuck(error, "memtables cannot be written out");
        }
        live.awaitChange(seen);
        seen = live.changes();
      }
    } finally {
      stalls.end(WriteStalls.Cause.MEMTABLES_FULL, 0);
    }
  }

  /** Whether a commit that must not fail takes another memtable though flushes do. */
  private boolean mayExceed() {
    return closing || live.get().memtables.size() == shape.memtablesMax();
  }

  private void awaitCompaction() {
    stalls.begin();
    try {
      long seen = live.changes();
      while (live.get().version.tables(0).length >= shape.levelZeroStop()) {
        background.compactionNeeded();
        background.check();
        if (background.isLevelZeroStuck()) {
          // It may be for good. Writers go on, slowed down as far as they ever are.
          break;
        }
        throwIfStuck(background.compactionError(), "tables cannot be compacted");
        live.awaitChange(seen);
        seen = live.changes();
      }
    } finally {
      stalls.end(WriteStalls.Cause.LEVEL_ZERO_FULL, 0);
    }
  }

  private static void throwIfStuck(@Nullable Throwable cause, String what) {
    if (cause != null) {
      throw new StorageException(what, cause);
    }
  }
}
