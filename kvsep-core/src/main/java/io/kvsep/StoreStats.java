package io.kvsep;

import java.util.List;
import java.util.Map;

/**
 * Figures of one moment. Counters start at zero when the store is opened; amounts on disk are those
 * of the files.
 *
 * @param entriesEstimate entries in tables and memtables less tombstones; versions that compaction
 *     has not dropped yet count too
 * @param keyBytes bytes of keys in tables and memtables, with one to five bytes each for the
 *     keyspace, before compression of common prefixes
 * @param logBytes bytes of all value-log segments
 * @param logLiveBytes bytes of log records that tables and memtables still point to
 * @param tableBytes bytes of all tables
 * @param memoryBytes off-heap bytes the store owns, by purpose
 * @param memoryPeakBytes the most off-heap bytes the store owned at once
 * @param levels tables per level, from level 0
 * @param userBytesWritten keys and values handed to the store
 * @param deviceBytesWritten bytes written to files
 * @param writeAmplification deviceBytesWritten / userBytesWritten, 0 before the first write
 * @param spaceAmplification bytes of log and tables / bytes that are live in them, 1 when empty
 * @param commits write calls that were committed
 * @param syncs syncs of the log
 * @param flushes memtables written out
 * @param compactions compactions completed
 * @param stallNanos time writers were held back
 * @param cacheHits values and blocks found in a cache of the store's own
 * @param cacheMisses and not found there
 * @param openSnapshots snapshots not closed yet
 * @param openCursors cursors not closed yet
 * @param replayedBytes log bytes read again when the store was opened
 * @param tornBytes bytes of a torn log tail that opening the store cut off
 */
public record StoreStats(
    long entriesEstimate,
    long keyBytes,
    long logBytes,
    long logLiveBytes,
    long tableBytes,
    Map<String, Long> memoryBytes,
    long memoryPeakBytes,
    List<Level> levels,
    long userBytesWritten,
    long deviceBytesWritten,
    double writeAmplification,
    double spaceAmplification,
    long commits,
    long syncs,
    long flushes,
    long compactions,
    long stallNanos,
    long cacheHits,
    long cacheMisses,
    int openSnapshots,
    int openCursors,
    long replayedBytes,
    long tornBytes) {
  /** Tables and their bytes in one level. */
  public record Level(int tables, long bytes) {}

  public StoreStats {
    memoryBytes = Map.copyOf(memoryBytes);
    levels = List.copyOf(levels);
  }
}
