package io.kvsep.internal.config;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.PhysicalMemory;
import io.kvsep.internal.memory.SystemMemory;
import java.io.File;
import java.time.Clock;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * Everything an engine is opened with.
 *
 * @param storage the directory; the engine closes it
 * @param mode what is allowed at open
 * @param sync when commits are synced
 * @param syncIntervalNanos pause between syncs with {@link CommitSync#INTERVAL}
 * @param inlineValueBytesMax values up to this length live beside their key
 * @param compressionBytesMin shorter values are not compressed; Integer.MAX_VALUE compresses none
 * @param segmentBytes length of a log segment
 * @param shape limits derived from the memory budget
 * @param clock for times to live
 * @param ticker for metrics and pacing
 * @param random for store ids and the shape of skip lists
 * @param scheduler runs background work; the engine closes it
 * @param reclaim how much garbage the value log may hold
 * @param verifiesValues whether the checksum of a value in the log is verified each time a user
 *     reads it
 * @param memory what the system says of memory for files
 */
public record EngineConfig(
    Storage storage,
    OpenMode mode,
    CommitSync sync,
    long syncIntervalNanos,
    int inlineValueBytesMax,
    int compressionBytesMin,
    long segmentBytes,
    Shape shape,
    Clock clock,
    Ticker ticker,
    RandomGenerator random,
    Scheduler scheduler,
    Reclaim reclaim,
    boolean verifiesValues,
    ColdReadPolicy.Memory memory) {
  /** On the memory of this machine, or of the control group of this process. */
  public EngineConfig(
      Storage storage,
      OpenMode mode,
      CommitSync sync,
      long syncIntervalNanos,
      int inlineValueBytesMax,
      int compressionBytesMin,
      long segmentBytes,
      Shape shape,
      Clock clock,
      Ticker ticker,
      RandomGenerator random,
      Scheduler scheduler,
      Reclaim reclaim,
      boolean verifiesValues) {
    this(
        storage,
        mode,
        sync,
        syncIntervalNanos,
        inlineValueBytesMax,
        compressionBytesMin,
        segmentBytes,
        shape,
        clock,
        ticker,
        random,
        scheduler,
        reclaim,
        verifiesValues,
        new SystemMemory());
  }

  /** The same in another directory. */
  public EngineConfig with(Storage other) {
    return new EngineConfig(
        other,
        mode,
        sync,
        syncIntervalNanos,
        inlineValueBytesMax,
        compressionBytesMin,
        segmentBytes,
        shape,
        clock,
        ticker,
        random,
        scheduler,
        reclaim,
        verifiesValues,
        memory);
  }

  /**
   * How much garbage the value log may hold, and how hard it is fought.
   *
   * @param goal the limits
   * @param pendingBytesMax garbage that is let be beyond them as long as it was all written within
   *     the last two seconds
   * @param bytesPerSecondMin bytes read and written a second while there is little to do
   * @param orderFromBytes from how many bytes of log and tables on values are put in the order of
   *     keys by flushes and while nobody writes, whatever is in memory; asked when that matters
   * @param orderWarmFromBytes from how many bytes on those are that are likely to stay
   */
  public record Reclaim(
      ReclaimGoal goal,
      long pendingBytesMax,
      long bytesPerSecondMin,
      LongSupplier orderFromBytes,
      long orderWarmFromBytes) {
    private static final long SLACK_BYTES = 1 << 20;

    /** Two memtables of a small store cover as much of the log. */
    private static final long PENDING_BYTES_MAX = 128 << 20;

    private static final long BYTES_PER_SECOND_MIN = 128 << 20;

    /** What is shorter is walked within a tenth of a second or so as it is. */
    private static final long ORDER_WARM_FROM_BYTES = 128 << 20;

    /**
     * Holds the log's files at so many times what is live in them, and puts values in order: all
     * where the store takes more than half of all memory, else those that are likely to stay.
     */
    public static Reclaim holding(double spaceAmplificationMax, long segmentBytes) {
      return new Reclaim(
          new ReclaimGoal(spaceAmplificationMax, SLACK_BYTES, segmentBytes),
          PENDING_BYTES_MAX,
          BYTES_PER_SECOND_MIN,
          () -> PhysicalMemory.bytes() / 2,
          ORDER_WARM_FROM_BYTES);
    }

    /** The same with so many bytes of the log left as they are. */
    public Reclaim retaining(long logBytes) {
      return new Reclaim(
          goal.retaining(logBytes),
          pendingBytesMax,
          bytesPerSecondMin,
          orderFromBytes,
          orderWarmFromBytes);
    }
  }

  /** When a commit is synced. */
  public enum CommitSync {
    /** Before it is acknowledged. */
    EVERY_COMMIT,
    /** In the background, at intervals. */
    INTERVAL,
    /** When asked, flushed or closed. */
    ON_DEMAND
  }

  /** What is allowed at open. */
  public record OpenMode(boolean readOnly, boolean createIfMissing, boolean exclusive) {}

  /**
   * Limits that follow from the memory budget; tests make them tiny, so that everything happens all
   * the time.
   *
   * @param memtableBytes arena of one memtable
   * @param memtablesMax memtables at once, the active one included
   * @param memtableLogBytesMin log bytes one memtable may cover however little the store holds
   * @param memtableLogBytesMax log bytes one memtable may cover; bounds what recovery replays
   * @param spareFromBytes log bytes in one segment that make it worth having room in it, and the
   *     next one ready
   * @param roomBytes room that the active segment may have ahead of what is written; 0 for none
   * @param commitBytesMax memory that encoded frames may take together; others are encoded while
   *     they are written
   * @param frameRetainedBytes memory one writing slot may keep from one write to the next
   * @param levelZeroTables tables in level 0 that make it worth compacting
   * @param levelZeroSlowdown tables in level 0 from which on writers are slowed down
   * @param levelZeroStop tables in level 0 at which writers wait
   * @param levelBaseBytes target of the first level below level 0
   * @param tableBytes length of tables below level 0
   * @param hiddenBytesMin garbage in the log that compactions are started for
   * @param blockBytes length of a table's blocks
   * @param readerBytesMax what open tables may cost together
   * @param blockCacheBytesMax unpacked blocks kept for lookups
   * @param loadRoom writes there may be during a bulk load before its tables are written again
   * @param pieceBytes what is written at once of files that reclaim makes, and of tables of
   *     compactions that have time
   * @param packsBlocks whether blocks of tables below level 1 are compressed
   */
  public record Shape(
      long memtableBytes,
      int memtablesMax,
      long memtableLogBytesMin,
      long memtableLogBytesMax,
      long spareFromBytes,
      long roomBytes,
      long commitBytesMax,
      long frameRetainedBytes,
      int levelZeroTables,
      int levelZeroSlowdown,
      int levelZeroStop,
      long levelBaseBytes,
      long tableBytes,
      long hiddenBytesMin,
      int blockBytes,
      long readerBytesMax,
      long blockCacheBytesMax,
      long loadRoom,
      int pieceBytes,
      boolean packsBlocks) {
    private static final long MIB = 1L << 20;

    /** The least budget that a store can work with. */
    public static final long BUDGET_BYTES_MIN = 16 * MIB;

    private static final long BUDGET_BYTES_USUAL = 256 * MIB;

    /** Half of the 65,530 mappings that Linux allows a process unless told otherwise. */
    private static final long READER_BYTES_MAX = 32 * MIB;

    /** As large as memtables get: with short values it is their own length that counts. */
    private static final long MEMTABLE_LOG_BYTES_MIN = 64 * MIB;

    /** A store with less in its log may never need another segment. */
    private static final long SPARE_FROM_BYTES = 8 * MIB;

    /**
     * Some milliseconds of writing as fast as it goes; with what else a store takes, 16 MiB beyond
     * its data is the most that its directory is to show.
     */
    private static final long ROOM_BYTES = 12 * MIB;

    private static final long HIDDEN_BYTES_MIN = 4 * MIB;

    /** More loads than anybody does use up less than all sequence numbers that there are. */
    private static final long LOAD_ROOM = 1 << 24;

    /** The longest pages of memory that the system keeps files in. */
    private static final long PIECE_BYTES_MAX = 2 * MIB;

    /** The usual budget, or a quarter of the memory that this process may use if that is less. */
    public static long usualBudgetBytes() {
      long quarter = new SystemMemory().limitBytes() / 4;
      return Math.max(BUDGET_BYTES_MIN, Math.min(BUDGET_BYTES_USUAL, quarter));
    }

    /**
     * Half of the budget goes to memtables, up to a seventh as much to their indexes, the rest to
     * frames on their way, to tables being written (about 9 bytes an entry and a few buffers each),
     * to a file that reclaim writes and one of a flush, to a piece of the log's room, to unpacked
     * blocks, of which there are none unless some were packed, and to readers' scratch space.
     */
    public static Shape forBudget(long memoryBudgetBytes, boolean packsBlocks) {
      long memtable = Math.min(64 * MIB, memoryBudgetBytes / 6);
      long table = Math.min(32 * MIB, Math.max(2 * MIB, memoryBudgetBytes / 8));
      long piece =
          Math.min(
              PIECE_BYTES_MAX,
              Math.max(Limits.PIECE_BYTES_MIN, Long.highestOneBit(memoryBudgetBytes / 64)));
      return new Shape(
          memtable,
          3,
          MEMTABLE_LOG_BYTES_MIN,
          Math.max(MEMTABLE_LOG_BYTES_MIN, memoryBudgetBytes),
          SPARE_FROM_BYTES,
          roomBytes(memoryBudgetBytes),
          memoryBudgetBytes / 8,
          Math.min(256 << 10, memoryBudgetBytes / 1024),
          4,
          12,
          24,
          4 * memtable,
          table,
          HIDDEN_BYTES_MIN,
          2048,
          Math.min(READER_BYTES_MAX, memoryBudgetBytes / 2),
          memoryBudgetBytes / 8,
          LOAD_ROOM,
          (int) piece,
          packsBlocks);
    }

    /**
     * It takes a buffer of a twenty-fourth, and a processor that the writer is not on. Windows cuts
     * no file that is mapped, and the room would stay in each.
     */
    private static long roomBytes(long memoryBudgetBytes) {
      return Runtime.getRuntime().availableProcessors() > 1 && File.separatorChar == '/'
          ? Math.min(ROOM_BYTES, memoryBudgetBytes / 16)
          : 0;
    }

    /**
     * What slots may keep together, of writes and of reads each: as much as the first 32 of writes
     * in most stores. Reads under way may take as much again.
     */
    public long keptBytesMax() {
      return commitBytesMax / 4;
    }
  }
}
