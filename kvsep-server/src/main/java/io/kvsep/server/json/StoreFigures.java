package io.kvsep.server.json;

import io.kvsep.ReclaimReport;
import io.kvsep.SegmentStats;
import io.kvsep.StoreStats;
import io.kvsep.VerifyReport;
import java.util.List;
import java.util.TreeMap;

/** Statistics and reports of a store as JSON, the same on the command line and over HTTP. */
public final class StoreFigures {
  private StoreFigures() {}

  /** All statistics by name; counters of work start when the store is opened. */
  public static JsonObject json(StoreStats stats) {
    return new JsonObject()
        .put("entriesEstimate", stats.entriesEstimate())
        .put("keyBytes", stats.keyBytes())
        .put("logBytes", stats.logBytes())
        .put("logLiveBytes", stats.logLiveBytes())
        .put("logSegments", stats.logSegments())
        .put("tableBytes", stats.tableBytes())
        .put("memoryBytes", memory(stats))
        .put("memoryPeakBytes", stats.memoryPeakBytes())
        .put("levels", levels(stats))
        .put("userBytesWritten", stats.userBytesWritten())
        .put("deviceBytesWritten", stats.deviceBytesWritten())
        .put("logBytesWritten", stats.logBytesWritten())
        .put("writeAmplification", stats.writeAmplification())
        .put("spaceAmplification", stats.spaceAmplification())
        .put("commits", stats.commits())
        .put("syncs", stats.syncs())
        .put("flushes", stats.flushes())
        .put("compactions", stats.compactions())
        .put("stalls", stats.stalls())
        .put("stallNanos", stats.stallNanos())
        .put("cacheHits", stats.cacheHits())
        .put("cacheMisses", stats.cacheMisses())
        .put("openSnapshots", stats.openSnapshots())
        .put("openCursors", stats.openCursors())
        .put("oldestSnapshotNanos", stats.oldestSnapshotNanos())
        .put("oldestCursorNanos", stats.oldestCursorNanos())
        .put("pinned", pinned(stats.pinned()))
        .put("reclaim", reclaim(stats.reclaim()))
        .put("replayedBytes", stats.replayedBytes())
        .put("tornBytes", stats.tornBytes())
        .put("failed", stats.failed());
  }

  private static JsonObject memory(StoreStats stats) {
    JsonObject memory = new JsonObject();
    new TreeMap<>(stats.memoryBytes()).forEach(memory::put);
    return memory;
  }

  private static JsonObject pinned(StoreStats.Pinned pinned) {
    return new JsonObject()
        .put("tables", pinned.tables())
        .put("tableBytes", pinned.tableBytes())
        .put("segments", pinned.segments())
        .put("logBytes", pinned.logBytes())
        .put("memtableBytes", pinned.memtableBytes());
  }

  private static JsonObject reclaim(StoreStats.Reclaim reclaim) {
    return new JsonObject()
        .put("filesRewritten", reclaim.filesRewritten())
        .put("bytesRead", reclaim.bytesRead())
        .put("bytesWritten", reclaim.bytesWritten())
        .put("reclaimableBytes", reclaim.reclaimableBytes())
        .putNames("damagedFiles", reclaim.damagedFiles());
  }

  public static List<JsonObject> segments(List<SegmentStats> segments) {
    return segments.stream()
        .map(
            segment ->
                new JsonObject()
                    .put("file", segment.file())
                    .put("bytes", segment.bytes())
                    .put("liveBytes", segment.liveBytes())
                    .put("relocated", segment.relocated())
                    .put("pinned", segment.pinned()))
        .toList();
  }

  /** Tables and bytes per level. */
  public static List<JsonObject> levels(StoreStats stats) {
    return stats.levels().stream()
        .map(level -> new JsonObject().put("tables", level.tables()).put("bytes", level.bytes()))
        .toList();
  }

  public static JsonObject json(ReclaimReport report) {
    return new JsonObject()
        .put("filesExamined", report.filesExamined())
        .put("filesRewritten", report.filesRewritten())
        .put("filesRemoved", report.filesRemoved())
        .put("bytesRead", report.bytesRead())
        .put("bytesWritten", report.bytesWritten())
        .put("bytesFreed", report.bytesFreed())
        .put("seconds", report.seconds())
        .putNames("damagedFiles", report.damagedFiles());
  }

  public static JsonObject json(VerifyReport report) {
    return new JsonObject()
        .put("sound", report.isSound())
        .put("files", report.files())
        .put("bytes", report.bytes())
        .put("entries", report.entries())
        .put("records", report.records())
        .put("problemCount", report.problemCount())
        .put("problems", report.problems().stream().map(StoreFigures::json).toList())
        .putNames("unknownFiles", report.unknownFiles())
        .put("seconds", report.seconds());
  }

  private static JsonObject json(VerifyReport.Problem problem) {
    return new JsonObject()
        .put("file", problem.file())
        .put("offset", problem.offset())
        .put("expected", problem.expected())
        .put("found", problem.found());
  }
}
