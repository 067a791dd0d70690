package io.kvsep;

import java.util.List;
import java.util.Map;

/**
 * Statistics at one point in time. Counters start at zero when the store is opened; sizes on disk
 * are those of the files.
 *
 * @param entriesEstimate entries in tables and memtables minus tombstones; includes versions not
 *     yet dropped by compaction
 * @param keyBytes bytes of keys in tables and memtables, including tombstones, before prefix
 *     compression; four more for each key of a keyspace from the 240th on
 * @param logBytes bytes of all value-log files, including pinned ones
 * @param logLiveBytes bytes of log records to which tables and memtables still point
 * @param logSegments number of value-log files; {@link KvStore#segments} lists them
 * @param tableBytes bytes of all tables, including pinned ones
 * @param memoryBytes off-heap bytes owned by the store, by purpose
 * @param memoryPeakBytes highest number of off-heap bytes owned at once
 * @param levels current tables per level, from level 0
 * @param userBytesWritten bytes of keys and values passed to the store
 * @param deviceBytesWritten bytes written to log, tables and manifest, whether or not they still
 *     exist; excludes what opening the store copied and what {@link KvStore#restore} spools
 * @param logBytesWritten the part of them written to value-log files, by writers, bulk loads and
 *     reclaim; divided by userBytesWritten it is the write amplification of the log
 * @param writeAmplification deviceBytesWritten / userBytesWritten, 0 before the first write
 * @param spaceAmplification bytes of log and tables / live bytes in them, 1 if nothing is live
 * @param commits committed write calls
 * @param syncs syncs of the log
 * @param flushes memtables written out
 * @param compactions completed compactions
 * @param stalls how often writers were delayed because background work had not kept up
 * @param stallNanos total time of these delays
 * @param cacheHits lookups of tables that were already open, and of compressed key blocks that were
 *     already decompressed
 * @param cacheMisses lookups that had to open a table or decompress a block; a persistently high
 *     rate means that the working set exceeds the memory budget
 * @param openSnapshots snapshots and transactions not closed yet
 * @param openCursors cursors not closed yet
 * @param oldestSnapshotNanos age of the oldest open snapshot, 0 without one
 * @param oldestCursorNanos age of the oldest open cursor, 0 without one
 * @param pinned what is kept only for open cursors and running calls
 * @param reclaim what reclaim did to the value log, and what it could still free
 * @param replayedBytes log bytes replayed when the store was opened
 * @param tornBytes bytes of a torn log tail cut off when the store was opened
 * @param failed whether a sync has failed, including background syncs: every write throws {@link
 *     io.kvsep.error.StoreFailedException} until the store is reopened
 */
public record StoreStats(
    long entriesEstimate,
    long keyBytes,
    long logBytes,
    long logLiveBytes,
    int logSegments,
    long tableBytes,
    Map<String, Long> memoryBytes,
    long memoryPeakBytes,
    List<Level> levels,
    long userBytesWritten,
    long deviceBytesWritten,
    long logBytesWritten,
    double writeAmplification,
    double spaceAmplification,
    long commits,
    long syncs,
    long flushes,
    long compactions,
    long stalls,
    long stallNanos,
    long cacheHits,
    long cacheMisses,
    int openSnapshots,
    int openCursors,
    long oldestSnapshotNanos,
    long oldestCursorNanos,
    Pinned pinned,
    Reclaim reclaim,
    long replayedBytes,
    long tornBytes,
    boolean failed) {
  /**
   * Tables in one level and their bytes.
   *
   * @param tables number of tables
   * @param bytes their bytes
   */
  public record Level(int tables, long bytes) {}

  /**
   * Replaced files and memory that are kept only because a cursor, a running call or a running
   * compaction uses an older read state. A snapshot pins no file: it keeps old versions of entries,
   * which compaction preserves and which count as live.
   *
   * @param tables number of tables
   * @param tableBytes their bytes, included in {@link StoreStats#tableBytes}
   * @param segments number of value-log files
   * @param logBytes their bytes, included in {@link StoreStats#logBytes}
   * @param memtableBytes memory of flushed memtables, included in {@link StoreStats#memoryBytes}
   */
  public record Pinned(
      int tables, long tableBytes, int segments, long logBytes, long memtableBytes) {}

  /**
   * Reclaim, both in the background and on request.
   *
   * @param filesRewritten value-log files whose live records were copied to a new one
   * @param bytesRead bytes of the copied records
   * @param bytesWritten bytes of the new files; included in {@link StoreStats#deviceBytesWritten}
   * @param reclaimableBytes upper bound of the bytes freed by rewriting all completed files whose
   *     entries have been flushed
   * @param damagedFiles names of log files and tables that reclaim or a compaction found damaged or
   *     could not read since the store was opened; they are skipped until it is reopened
   */
  public record Reclaim(
      long filesRewritten,
      long bytesRead,
      long bytesWritten,
      long reclaimableBytes,
      List<String> damagedFiles) {
    /** Copies the list. */
    public Reclaim {
      damagedFiles = List.copyOf(damagedFiles);
    }
  }

  /** Copies the map and the list. */
  public StoreStats {
    memoryBytes = Map.copyOf(memoryBytes);
    levels = List.copyOf(levels);
  }
}
