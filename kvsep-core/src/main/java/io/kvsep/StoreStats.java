package io.kvsep;

import java.util.List;
import java.util.Map;

/**
 * Figures of one moment. Counters start at zero when the store is opened; amounts on disk are those
 * of the files.
 *
 * @param entriesEstimate entries in tables and memtables less tombstones; versions that compaction
 *     has not dropped yet count too
 * @param keyBytes bytes of keys in tables and memtables, those of tombstones too, before
 *     compression of common prefixes; four more for each key of a keyspace from the 240th on
 * @param logBytes bytes of all files of the value log, pinned ones included
 * @param logLiveBytes bytes of log records that tables and memtables still point to
 * @param logSegments files of the value log; {@link KvStore#segments} tells them apart
 * @param tableBytes bytes of all tables, pinned ones included
 * @param memoryBytes off-heap bytes the store owns, by purpose
 * @param memoryPeakBytes the most off-heap bytes the store owned at once
 * @param levels tables in force per level, from level 0
 * @param userBytesWritten keys and values handed to the store
 * @param deviceBytesWritten bytes written to the log, tables and the manifest, whether they are
 *     still there or not; what opening the store copied and what {@link KvStore#restore} sets aside
 *     does not count
 * @param logBytesWritten those of them that were written to files of the value log, by writers,
 *     bulk loads and reclaim; by userBytesWritten this is the write amplification of the log
 * @param writeAmplification deviceBytesWritten / userBytesWritten, 0 before the first write
 * @param spaceAmplification bytes of log and tables / bytes that are live in them, 1 while nothing
 *     is live
 * @param commits write calls that were committed
 * @param syncs syncs of the log
 * @param flushes memtables written out
 * @param compactions compactions completed
 * @param stalls how many times writers were held back because background work did not keep up
 * @param stallNanos for how long altogether
 * @param cacheHits tables that were looked into and found open, and compressed blocks of keys that
 *     were looked into and found unpacked
 * @param cacheMisses tables that had to be opened and blocks that had to be unpacked for it; a rate
 *     that does not fall means that the memory budget has room for less than what is in use
 * @param openSnapshots snapshots and transactions not closed yet
 * @param openCursors cursors not closed yet
 * @param oldestSnapshotNanos for how long the oldest open snapshot has been open, 0 without one
 * @param oldestCursorNanos for how long the oldest open cursor has been open, 0 without one
 * @param pinned what is kept for open cursors and calls under way alone
 * @param reclaim what reclaim did to the value log, and what it could still do
 * @param replayedBytes log bytes read again when the store was opened
 * @param tornBytes bytes of a torn log tail that opening the store cut off
 * @param failed whether a sync has failed, also one that nobody waited for: every write is a {@link
 *     io.kvsep.error.StoreFailedException} until the store is opened again
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
  /** Tables and their bytes in one level. */
  public record Level(int tables, long bytes) {}

  /**
   * What the store has replaced and would give back if no cursor, no call under way and no running
   * compaction worked with an older state of it. A snapshot pins no file: what it keeps are old
   * versions of entries, which compaction carries along and which count as live.
   *
   * @param tables tables
   * @param tableBytes their bytes, which are in {@link StoreStats#tableBytes} too
   * @param segments files of the value log
   * @param logBytes their bytes, which are in {@link StoreStats#logBytes} too
   * @param memtableBytes memory of flushed memtables, which is in {@link StoreStats#memoryBytes}
   */
  public record Pinned(
      int tables, long tableBytes, int segments, long logBytes, long memtableBytes) {}

  /**
   * Reclaim, in the background and asked for.
   *
   * @param filesRewritten files of the value log whose live records were copied to a new one
   * @param bytesRead bytes of records that were copied
   * @param bytesWritten bytes of the files they were copied to; in {@link
   *     StoreStats#deviceBytesWritten} too
   * @param reclaimableBytes bytes that rewriting all files that the log has finished and whose
   *     entries have been flushed would give back at most
   * @param damagedFiles names of files, of the log and tables, in which reclaim or a compaction
   *     found damage since the store was opened, or which they could not read, so that nothing is
   *     done with them, for now in the second case
   */
  public record Reclaim(
      long filesRewritten,
      long bytesRead,
      long bytesWritten,
      long reclaimableBytes,
      List<String> damagedFiles) {
    public Reclaim {
      damagedFiles = List.copyOf(damagedFiles);
    }
  }

  public StoreStats {
    memoryBytes = Map.copyOf(memoryBytes);
    levels = List.copyOf(levels);
  }
}
