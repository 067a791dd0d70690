package io.kvsep.internal.config;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.PhysicalMemory;
import io.kvsep.internal.memory.RecentMemory;
import io.kvsep.internal.memory.SystemMemory;
import java.time.Clock;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * All settings of an engine.
 *
 * @param storage the directory; closed by the engine
 * @param mode what opening may do
 * @param sync when commits are synced
 * @param values how values are stored and read
 * @param shape limits derived from the memory budget
 * @param reclaim limits of garbage in the value log
 * @param host what the engine takes from the process and the machine
 */
public record EngineConfig(
    Storage storage,
    OpenMode mode,
    Sync sync,
    Values values,
    Shape shape,
    Reclaim reclaim,
    Host host) {
  public Clock clock() {
    return host.clock;
  }

  public Ticker ticker() {
    return host.ticker;
  }

  public Scheduler scheduler() {
    return host.scheduler;
  }

  public EngineConfig with(Storage otherStorage, Scheduler otherScheduler) {
    Host otherHost = new Host(host.clock, host.ticker, host.random, otherScheduler, host.memory);
    return new EngineConfig(otherStorage, mode, sync, values, shape, reclaim, otherHost);
  }

  /**
   * When commits are synced.
   *
   * @param intervalNanos pause between syncs with {@link CommitSync#INTERVAL}
   */
  public record Sync(CommitSync commits, long intervalNanos) {}

  /**
   * How values are stored and read.
   *
   * @param segmentBytes length of a log segment
   * @param inlineBytesMax values up to this length are stored with their key
   * @param inlineBytesMaxIfLarge the same for what is written while the store is large
   * @param largeFromBytes length of log and tables from which a store is large; one that exceeds
   *     memory always is
   * @param compressionBytesMin minimum length of compressed values; Integer.MAX_VALUE disables
   *     compression
   * @param areVerified whether user reads verify the checksums of values in the log
   */
  public record Values(
      long segmentBytes,
      int inlineBytesMax,
      int inlineBytesMaxIfLarge,
      long largeFromBytes,
      int compressionBytesMin,
      boolean areVerified) {}

  /**
   * What the engine takes from the process and the machine.
   *
   * @param clock for times to live
   * @param ticker for metrics, pacing and due times of syncs
   * @param random for store ids and skip list heights
   * @param scheduler runs background work; closed by the engine
   * @param memory memory of the system available for files
   */
  public record Host(
      Clock clock,
      Ticker ticker,
      RandomGenerator random,
      Scheduler scheduler,
      ColdReadPolicy.Memory memory) {
    /** Uses the memory of this machine or control group. */
    public Host(Clock clock, Ticker ticker, RandomGenerator random, Scheduler scheduler) {
      this(clock, ticker, random, scheduler, RecentMemory.OF_SYSTEM);
    }
  }

  /**
   * Limits of garbage in the value log, and of reclaim.
   *
   * @param pendingBytesMax garbage tolerated beyond them if all written in the last two seconds
   * @param bytesPerSecondMin minimum bytes read and written per second
   * @param orderFromBytes length of log and tables from which flushes and idle reclaim put values
   *     into key order; called when needed
   */
  public record Reclaim(
      ReclaimGoal goal, long pendingBytesMax, long bytesPerSecondMin, LongSupplier orderFromBytes) {
    private static final long SLACK_BYTES = 1 << 20;

    /** As much of the log as two memtables of a small store cover. */
    private static final long PENDING_BYTES_MAX = 128 << 20;

    private static final long BYTES_PER_SECOND_MIN = 128 << 20;

    /** Orders values if the store exceeds half of the memory. */
    public static Reclaim holding(double spaceAmplificationMax, long segmentBytes) {
      return new Reclaim(
          new ReclaimGoal(spaceAmplificationMax, SLACK_BYTES, segmentBytes),
          PENDING_BYTES_MAX,
          BYTES_PER_SECOND_MIN,
          () -> PhysicalMemory.bytes() / 2);
    }

    public Reclaim retaining(long logBytes) {
      return new Reclaim(
          goal.retaining(logBytes), pendingBytesMax, bytesPerSecondMin, orderFromBytes);
    }
  }

  /** When a commit is synced. */
  public enum CommitSync {
    /** Before it is acknowledged. */
    EVERY_COMMIT,
    /** In the background, at intervals. */
    INTERVAL,
    /** On request, flush or close. */
    ON_DEMAND
  }

  public record OpenMode(boolean readOnly, boolean createIfMissing, boolean exclusive) {}

  /**
   * Limits derived from the memory budget. Tests make them tiny.
   *
   * @param loadRoom writes during a bulk load before its tables must be written again
   */
  public record Shape(
      Memtables memtables,
      Log log,
      Commits commits,
      LevelZero levelZero,
      Tables tables,
      Caches caches,
      long loadRoom) {
    private static final long MIB = 1L << 20;

    /** Minimum budget of a store. */
    public static final long BUDGET_BYTES_MIN = 16 * MIB;

    private static final long BUDGET_BYTES_USUAL = 256 * MIB;

    /** Half of the 65,530 mappings that Linux allows a process by default. */
    private static final long READER_BYTES_MAX = 32 * MIB;

    /** The largest memtable: with short values its own length is the limit. */
    private static final long MEMTABLE_LOG_BYTES_MIN = 64 * MIB;

    /** A store with less may never need another segment. */
    private static final long SPARE_FROM_BYTES = 8 * MIB;

    private static final long HIDDEN_BYTES_MIN = 4 * MIB;

    /** Even very many loads do not exhaust the sequence numbers. */
    private static final long LOAD_ROOM = 1 << 24;

    /**
     * Limits of the memtables.
     *
     * @param bytes arena of one memtable
     * @param countMax memtables, the active one included
     * @param logBytesMin log bytes that one may cover even in a small store
     * @param logBytesMax log bytes that one may cover; bounds replay
     */
    public record Memtables(long bytes, int countMax, long logBytesMin, long logBytesMax) {}

    /**
     * Limits of the log.
     *
     * @param spareFromBytes log bytes in a segment at which the next one is created
     * @param hiddenBytesMin garbage in the log that makes a compaction worthwhile
     */
    public record Log(long spareFromBytes, long hiddenBytesMin) {}

    /**
     * Memory of writes.
     *
     * @param bytesMax memory of all encoded frames; further ones are streamed
     * @param slotBytesMax memory that one write slot may keep between writes
     */
    public record Commits(long bytesMax, long slotBytesMax) {}

    /**
     * Numbers of tables in level 0.
     *
     * @param compactionTables that make a compaction worthwhile
     * @param slowdownTables from which on writers are slowed down, more with each table
     * @param stopTables at which writers wait
     */
    public record LevelZero(int compactionTables, int slowdownTables, int stopTables) {}

    /**
     * Lengths of levels and tables.
     *
     * @param levelBaseBytes target of the first level below level 0
     * @param bytes length of tables below level 0
     * @param blockBytes length of a table block
     * @param packsBlocks whether table blocks below level 1 are compressed
     */
    public record Tables(long levelBaseBytes, long bytes, int blockBytes, boolean packsBlocks) {}

    /**
     * Memory of readers.
     *
     * @param readerBytesMax memory of all open tables
     * @param blockBytesMax decompressed blocks cached for lookups
     */
    public record Caches(long readerBytesMax, long blockBytesMax) {}

    /** The usual budget, at most a quarter of the memory available to this process. */
    public static long usualBudgetBytes() {
      long quarter = new SystemMemory().limitBytes() / 4;
      return Math.max(BUDGET_BYTES_MIN, Math.min(BUDGET_BYTES_USUAL, quarter));
    }

    /**
     * Half of the budget is for memtables, up to a seventh as much for their indexes. The rest is
     * for frames, tables being written (about 9 bytes an entry plus buffers), a file each of
     * reclaim and flush, decompressed blocks, and readers' scratch memory.
     */
    public static Shape forBudget(long budgetBytes, boolean packsBlocks) {
      long memtableBytes = Math.min(64 * MIB, budgetBytes / 6);
      long logBytesMax = Math.max(MEMTABLE_LOG_BYTES_MIN, budgetBytes);
      long tableBytes = Math.min(32 * MIB, Math.max(2 * MIB, budgetBytes / 8));
      return new Shape(
          new Memtables(memtableBytes, /* countMax= */ 3, MEMTABLE_LOG_BYTES_MIN, logBytesMax),
          new Log(SPARE_FROM_BYTES, HIDDEN_BYTES_MIN),
          new Commits(budgetBytes / 8, Math.min(256 << 10, budgetBytes / 1024)),
          new LevelZero(/* compactionTables= */ 4, /* slowdownTables= */ 12, /* stopTables= */ 36),
          new Tables(4 * memtableBytes, tableBytes, /* blockBytes= */ 2048, packsBlocks),
          new Caches(Math.min(READER_BYTES_MAX, budgetBytes / 2), budgetBytes / 8),
          LOAD_ROOM);
    }

    /**
     * Memory that idle slots keep, for writes and reads each. Running reads may take as much again.
     */
    public long keptBytesMax() {
      return commits.bytesMax / 4;
    }
  }
}
