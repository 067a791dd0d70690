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
 * Inserts committed frames into the memtable and throttles writers when background work falls
 * behind: delays grow in proportion to what they write, and only the end is a stop. Used by one
 * thread at a time, the commit leader or recovery.
 */
public final class MemtableWriter implements AutoCloseable {
  /** Bytes per second when throttling begins; falls towards the stop. */
  private static final long SLOW_BYTES_PER_SECOND = 128L << 20;

  /** Shorter delays accumulate until a park is worthwhile. */
  private static final long PARK_NANOS_MIN = 1_000_000;

  private static final long DELAY_NANOS_MAX = 1_000_000_000;

  /** Pressure of known garbage that starts throttling. */
  private static final double PRESSURE_SLOWDOWN = 0.6;

  /** The same for all garbage, including not yet measured. */
  private static final double CROWDING_SLOWDOWN = 0.6;

  /** Factor on that rate when garbage throttling begins, and its slopes. */
  private static final double PRESSED_MAX = 2;

  private static final double PRESSURE_STEP = 2.5;
  private static final double CROWDING_STEP = 6;

  /** The factor's minimum. */
  private static final double PRESSED_MIN = 0.125;

  /** Part of the live bytes that a memtable covers at most; there are usually two. */
  private static final long LIVE_BYTES_PER_LOG_BYTE = 16;

  /** What to do with a frame when no memtable can be flushed. */
  private enum WhenStuck {
    /** Nothing was written yet. */
    REFUSE,
    /** The frame is in the log; its commit must not fail. */
    WAIT,
    /** Recovery found the frame; failing the open loses nothing. */
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
   * Prepares for a group, waiting for background work if necessary. If that fails, the group is
   * refused before anything is written.
   */
  void makeRoom(long logBytes, long indexBytes, long recordCount) {
    pace(logBytes);
    if (isFull(live.get().active(), logBytes, indexBytes, recordCount)) {
      switchMemtable(log.end());
    }
  }

  /** Whether {@link #makeRoom} would block or throttle the writer. */
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
    // An estimate; the rest goes to the next memtable.
    long needed = indexBytes + Memtable.arenaOverhead(recordCount);
    return needed > shape.memtableBytes() - active.allocatedBytes()
        || coversEnough(active, logBytes);
  }

  /**
   * Whether the active memtable covers as much log as it may.
   *
   * <p>Entries that a memtable replaces are garbage unknown until its flush, so the limit is a part
   * of the live bytes. An entry counts at least as much as the tables' average, because short
   * tombstones may replace long values.
   *
   * <p>While the maximum number of memtables awaits flushes, the active one may grow to the largest
   * limit: a writer would often wait only for the log's sync, and a process's first flush takes
   * many times as long as others.
   *
   * <p>If the store exceeds memory, {@link CompactionScheduler#coveredBytesMax} applies: values
   * covered by memtables are not in key order yet.
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

  /** Hands the active memtable to the flush and starts a new one. */
  public void switchMemtable(LogPosition logStart) {
    switchMemtable(logStart, WhenStuck.REFUSE);
  }

  /** Inserts the records of a frame that is in the log. */
  void insert(Frame frame) {
    entries.over(frame, directory);
    insertAll(entries, frame.segment(), frame.offset(), WhenStuck.WAIT);
    if (frame.isStreamed()) {
      // Read back from the file, without a checksum.
      Region.requirePagesRead();
    }
    coveredLogBytes += frame.length();
  }

  /** Inserts the entries of a frame found by recovery. */
  public void replay(FrameEntryReader source, long segment, long offset) {
    insertAll(source, segment, offset, WhenStuck.GIVE_UP);
  }

  /**
   * Ends waits for failing flushes: close waits for writers, and only close may help. The rest of a
   * frame then takes all memtables it needs.
   */
  public void endWaits() {
    closing = true;
  }

  /**
   * Inserts the entries of one frame. A frame may fill several memtables; it is replayed whole
   * until all are flushed.
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

  /** The store's first memtable, for entries from {@code logStart} on. */
  public Memtable firstMemtable(LogPosition logStart) {
    return new Memtable(ledger, shape.memtableBytes(), logStart, random.nextLong());
  }

  private Memtable newMemtable(LogPosition logStart) {
    Memtable before = live.get().active();
    return new Memtable(ledger, shape.memtableBytes(), logStart, random.nextLong(), before);
  }

  /**
   * If flushes fail, a commit that must not fail takes one memtable beyond the limit before it
   * waits; a small excess over the estimate needs no more. A read-only store keeps all memtables.
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

  /** Garbage beyond the throttling threshold; negative below it. */
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
          // The failure may be a missing thread, so use this one: once per background attempt,
          // since each may fill a full disk again.
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
          // Possibly permanent. Writers continue at the lowest rate.
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
