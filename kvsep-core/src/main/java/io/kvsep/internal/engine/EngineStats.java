package io.kvsep.internal.engine;

import java.util.Map;

/** The engine's figures of one moment; the public record is made of them. */
public record EngineStats(
    long entries,
    long keyBytes,
    long logBytes,
    long logLiveBytes,
    int logSegments,
    long tableBytes,
    Map<String, Long> memoryBytes,
    long memoryPeakBytes,
    int[] levelTables,
    long[] levelBytes,
    long userBytesWritten,
    long deviceBytesWritten,
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
    long replayedBytes,
    long tornBytes) {
  /** What is kept for readers of an older view alone. */
  public record Pinned(
      int tables, long tableBytes, int segments, long logBytes, long memtableBytes) {}
}
