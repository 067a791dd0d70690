package io.kvsep.internal.write;

import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.reclaim.ReclaimPressure;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.vlog.LogWriter;
import org.jspecify.annotations.Nullable;

/**
 * What a group of writes needs before it is appended: a delay, the end of a stop, a new memtable or
 * segment. {@link #decide} answers once per group. Writers that outrun background work are
 * throttled: delays in proportion to what they write, in the end a stop. Used by the commit leader.
 */
public final class Admission {
  /** When throttling begins; falls towards the stop. */
  private static final long SLOW_BYTES_PER_SECOND = 128L << 20;

  /** Shorter delays accumulate until a park is worthwhile. */
  private static final long PARK_NANOS_MIN = 1_000_000;

  private static final long DELAY_NANOS_MAX = 1_000_000_000;

  /** A flush may end meanwhile. */
  private static final long PACE_NANOS_MAX = 100_000_000;

  /** Factor on {@link #SLOW_BYTES_PER_SECOND} when garbage throttling begins. */
  private static final double PRESSED_MAX = 2;

  /** By how much the factor falls while the pressure rises by one. */
  private static final double PRESSURE_STEP = 6;

  /** The factor's minimum. */
  private static final double PRESSED_MIN = 0.125;

  /** Part of the live bytes that one of usually two memtables covers at most. */
  private static final long LIVE_BYTES_PER_LOG_BYTE = 16;

  private static final double FULL_SPEED = Double.MAX_VALUE;

  /** Writers that fill the last memtable are slower than flushes by this factor. */
  private static final double FLUSH_FACTOR = 1.25;

  /** Free part of the last memtable below which they become slower still, in inverse proportion. */
  private static final double SCARCE_PART = 0.25;

  private static final double SCARCE_PART_MIN = 0.01;

  private final CurrentReadState currentState;
  private final LogTail logTail;
  private final LogWriter logWriter;
  private final MemtableWriter memtables;
  private final CompactionScheduler background;
  private final ReclaimPressure reclaim;
  private final EngineConfig.Shape shape;
  private final int memtablesMax;

  // What depends on the version alone.
  private @Nullable Version version;
  private int levelZeroTables;
  private boolean slows;
  private long segmentBytes;
  private double bytesPerEntry;
  private long coveredBytesMax;
  private long coveredBytesMaxStuck;

  // The answer.
  private long logBytes;
  private boolean stops;
  private boolean crowded;

  /** Factor on the rate of writing. */
  private double speed;

  private boolean needsMemtable;
  private boolean memtablesFull;
  private boolean insertsSlowly;
  private boolean needsSegment;

  private long owedNanos;

  /** The active memtable and its free bytes when the last group came. */
  private @Nullable Memtable lastActive;

  private long lastFreeBytes;
  private boolean isPaced;

  public Admission(
      EngineConfig config,
      CurrentReadState currentState,
      LogTail logTail,
      MemtableWriter memtables,
      CompactionScheduler background,
      ReclaimPressure reclaim) {
    this.currentState = currentState;
    this.logTail = logTail;
    this.logWriter = logTail.logWriter();
    this.memtables = memtables;
    this.background = background;
    this.reclaim = reclaim;
    this.shape = config.shape();
    this.memtablesMax = shape.memtables().countMax();
  }

  /**
   * The index figures are estimates from above.
   *
   * @return whether the group takes more than appending and inserting
   */
  boolean decide(long groupBytes, long indexBytes, long recordCount) {
    ReadState readState = currentState.get();
    Memtable active = readState.active();
    if (readState.version != version) {
      look(readState.version);
    }
    logBytes = groupBytes;
    throttle();
    memtablesFull = readState.memtables.size() >= memtablesMax;
    // An estimate; the rest goes to the next memtable.
    long freeBytes = active.freeBytes();
    pace(active, freeBytes);
    long needed = indexBytes + Memtable.arenaOverhead(recordCount);
    needsMemtable = isFull(active, needed, freeBytes);
    if (needsMemtable && !memtablesFull) {
      memtablesFull = !memtables.reserve(needed);
    }
    insertsSlowly = active.insertMayTakeLong();
    needsSegment = logWriter.needsNewSegment(groupBytes, segmentBytes);
    return needsSegment || speed != FULL_SPEED || insertsSlowly || (needsMemtable && memtablesFull);
  }

  /**
   * Does what was decided. A failure refuses the group before anything is written.
   *
   * @param mayWait whether the group is slowed down
   */
  void admit(boolean mayWait) {
    if (stops) {
      awaitCompaction();
      look(currentState.get().version);
      throttle();
    }
    if (mayWait) {
      delay();
    }
    if (needsMemtable) {
      memtables.startMemtable();
    }
    if (needsSegment) {
      logTail.roll();
    }
  }

  private void look(Version current) {
    version = current;
    levelZeroTables = current.tables(0).length;
    slows = levelZeroTables >= shape.levelZero().slowdownTables();
    segmentBytes = logTail.segmentBytes(current);
    long bytes = current.liveBytes();
    bytesPerEntry = bytes / (double) Math.max(1, current.entryCount());
    coveredBytesMaxStuck =
        Math.min(shape.memtables().logBytesMax(), background.coveredBytesMax(current));
    coveredBytesMax =
        Math.min(
            coveredBytesMaxStuck,
            Math.max(shape.memtables().logBytesMin(), bytes / LIVE_BYTES_PER_LOG_BYTE));
  }

  private void throttle() {
    // Garbage beyond the threshold; negative below it, or if no job removes it.
    double excess =
        reclaim.isRelieved() ? PRESSURE_STEP * (reclaim.get() - ReclaimPressure.SLOWDOWN) : -1;
    stops = slows && levelZeroTables >= shape.levelZero().stopTables();
    if (!slows && excess < 0) {
      speed = FULL_SPEED;
      return;
    }
    double room = levelZeroSpeed(levelZeroTables, shape.levelZero());
    double relief = Math.max(PRESSED_MIN, PRESSED_MAX - excess);
    crowded = slows && room <= relief;
    speed = crowded ? room : relief;
  }

  /**
   * Factor on the rate of writing: falls in a straight line at first, then by half with each eighth
   * of the way. A compaction of level 0 may take as long as the flushes of a dozen tables, and slow
   * writers are better than a long stop.
   */
  static double levelZeroSpeed(int tables, EngineConfig.Shape.LevelZero limits) {
    int range = Math.max(1, limits.stopTables() - limits.slowdownTables());
    double way = Math.max(0, tables - limits.slowdownTables()) / (double) range;
    return Math.max(1 - 2 * way, Math.pow(2, -8 * way));
  }

  /**
   * Whether the active memtable has no room for the group, or covers as much log as it may.
   *
   * <p>What a memtable replaces is unknown garbage until its flush, so the limit is a part of the
   * live bytes. An entry counts at least the tables' average, because short tombstones may replace
   * long values.
   *
   * <p>While the other memtables await flushes, the active one may grow to the largest limit: a
   * writer would often wait only for the log's sync, and a process's first flush takes many times
   * as long.
   *
   * <p>If the store exceeds memory, {@link CompactionScheduler#coveredBytesMax} applies: these
   * values are not in key order yet.
   */
  private boolean isFull(Memtable active, long needed, long freeBytes) {
    long most = memtablesFull ? coveredBytesMaxStuck : coveredBytesMax;
    boolean full =
        needed > freeBytes
            || active.entryCount() * bytesPerEntry > most
            || logBytes > most - memtables.coveredLogBytes();
    // A placeholder is always full.
    return full && (active.isPlaceholder() || !active.isEmpty());
  }

  /**
   * While all other memtables await their flush, the active one fills no faster than the last was
   * flushed, and its last quarter ever slower, because this flush may take longer. Otherwise the
   * writer that fills it would wait for a whole flush. It has room, so a write that may not wait
   * goes ahead.
   */
  private void pace(Memtable active, long freeBytes) {
    long grown = active == lastActive ? lastFreeBytes - freeBytes : 0;
    lastActive = active;
    lastFreeBytes = freeBytes;
    isPaced = memtablesFull && background.flushError() == null;
    if (isPaced) {
      double factor = FLUSH_FACTOR * scarcity(freeBytes, active.capacityBytes());
      owedNanos += (long) (grown * background.flushNanosPerByte() * factor);
    }
  }

  /** From 1 to 25, as the free bytes of the last memtable become few. */
  static double scarcity(long freeBytes, long capacityBytes) {
    double free = freeBytes / (double) Math.max(1, capacityBytes);
    return Math.max(1, SCARCE_PART / Math.max(SCARCE_PART_MIN, free));
  }

  private void delay() {
    if (speed != FULL_SPEED) {
      owedNanos += (long) (logBytes * 1e9 / (SLOW_BYTES_PER_SECOND * speed));
    } else if (!isPaced) {
      owedNanos = 0;
      return;
    }
    if (owedNanos >= PARK_NANOS_MIN) {
      long most = speed == FULL_SPEED ? PACE_NANOS_MAX : DELAY_NANOS_MAX;
      long delayNanos = Math.min(owedNanos, most);
      owedNanos = 0;
      WriteStalls stalls = memtables.stalls();
      stalls.begin();
      Uninterruptibles.pause(delayNanos);
      stalls.end(slowdownCause(), delayNanos);
    }
  }

  private WriteStalls.Cause slowdownCause() {
    if (speed == FULL_SPEED) {
      return WriteStalls.Cause.MEMTABLES_SLOWDOWN;
    }
    return crowded ? WriteStalls.Cause.LEVEL_ZERO_SLOWDOWN : WriteStalls.Cause.GARBAGE_SLOWDOWN;
  }

  private void awaitCompaction() {
    memtables.stalls().begin();
    try {
      long seen = currentState.changes();
      while (currentState.get().version.tables(0).length >= shape.levelZero().stopTables()) {
        background.compactionNeeded();
        background.check();
        KvException problem = background.levelZeroProblem();
        if (problem != null) {
          throw new StorageException(
              "level 0 is full behind a table that cannot be read; repair the store, or reopen it"
                  + " once the table can be read: "
                  + problem.getMessage(),
              problem);
        }
        Throwable error = background.compactionError();
        if (error != null) {
          throw new StorageException("tables cannot be compacted", error);
        }
        currentState.awaitChange(seen);
        seen = currentState.changes();
      }
    } finally {
      memtables.stalls().end(WriteStalls.Cause.LEVEL_ZERO_FULL, 0);
    }
  }
}
