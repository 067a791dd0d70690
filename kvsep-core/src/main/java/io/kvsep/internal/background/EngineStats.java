package io.kvsep.internal.background;

import io.kvsep.internal.memory.MemoryLedger;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The engine's figures at one moment; source of the public record. */
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
    long logBytesWritten,
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
  /** Kept only for readers of an older read state. */
  public record Pinned(
      int tables, long tableBytes, int segments, long logBytes, long memtableBytes) {}

  /** Work of reclaim since the store was opened, and what it could still reclaim. */
  public record Reclaim(
      long filesRewritten,
      long bytesRead,
      long bytesWritten,
      long reclaimableBytes,
      List<String> damagedFiles) {}

  public record SegmentFile(
      String name, long bytes, long liveBytes, boolean relocated, boolean pinned) {}

  /** Bytes held, by printed purpose. */
  public static Map<String, Long> memoryOf(MemoryLedger ledger) {
    Map<String, Long> bytes = new HashMap<>();
    ledger
        .bytesByPurpose()
        .forEach((purpose, held) -> bytes.put(purpose.name().toLowerCase(Locale.ROOT), held));
    return bytes;
  }
}
