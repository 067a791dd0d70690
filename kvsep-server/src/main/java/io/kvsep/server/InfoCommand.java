package io.kvsep.server;

import io.kvsep.KvStore;
import io.kvsep.SegmentStats;
import io.kvsep.StoreStats;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Shows what a store holds and how it lies on disk. */
@Command(name = "info", description = "Show what the store holds and how it lies on disk.")
final class InfoCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(names = "--json", description = "As one JSON object.")
  private boolean json;

  InfoCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    StoreStats stats;
    List<SegmentStats> segments;
    try (KvStore open = store.openToRead()) {
      stats = open.stats();
      segments = open.segments();
    }
    if (json) {
      streams
          .output()
          .line(
              json(stats)
                  .put("segments", segments(segments))
                  .put("directory", store.directory().toString())
                  .toString());
    } else {
      show(stats);
      show(segments);
    }
    return Kvsep.DONE;
  }

  /** Every figure there is, under its name; those of work are those of opening the store. */
  private static JsonObject json(StoreStats stats) {
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
        .put("tornBytes", stats.tornBytes());
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

  private static List<JsonObject> segments(List<SegmentStats> segments) {
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

  static List<JsonObject> levels(StoreStats stats) {
    return stats.levels().stream()
        .map(level -> new JsonObject().put("tables", level.tables()).put("bytes", level.bytes()))
        .toList();
  }

  /** The levels that hold something, such as {@code L0: 2 tables, 1.3 MB; L1: ...}. */
  static String levelsLine(StoreStats stats) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < stats.levels().size(); i++) {
      StoreStats.Level level = stats.levels().get(i);
      if (level.tables() > 0) {
        line.append(line.isEmpty() ? "" : "; ")
            .append("L" + i + ": ")
            .append(Amounts.of(level.tables(), "table"))
            .append(", ")
            .append(Amounts.bytes(level.bytes()));
      }
    }
    return line.isEmpty() ? "no tables" : line.toString();
  }

  private void show(StoreStats stats) throws IOException {
    row("directory", store.directory().toString());
    row("entries", "about " + Amounts.count(stats.entriesEstimate()));
    row("keys", Amounts.bytes(stats.keyBytes()));
    row(
        "value log",
        Amounts.bytes(stats.logBytes())
            + " in "
            + Amounts.of(stats.logSegments(), "segment")
            + ", live "
            + Amounts.bytes(stats.logLiveBytes()));
    row("reclaimable", Amounts.bytes(stats.reclaim().reclaimableBytes()));
    row("tables", Amounts.bytes(stats.tableBytes()));
    row("levels", levelsLine(stats));
    row("space amplification", String.format(Locale.ROOT, "%.2f", stats.spaceAmplification()));
    row("memory at most", Amounts.bytes(stats.memoryPeakBytes()) + " off-heap since it was opened");
    row(
        "recovery now",
        Amounts.bytes(stats.replayedBytes())
            + " of log read again, "
            + Amounts.bytes(stats.tornBytes())
            + " torn");
  }

  /** A line for each file, such as {@code 000003.vlog 268.4 MB, live 120.1 MB (45 %)}. */
  private void show(List<SegmentStats> segments) throws IOException {
    for (SegmentStats segment : segments) {
      double share = segment.bytes() == 0 ? 0 : segment.liveBytes() / (double) segment.bytes();
      row(
          segment.file(),
          Amounts.bytes(segment.bytes())
              + ", live "
              + Amounts.bytes(segment.liveBytes())
              + String.format(Locale.ROOT, " (%.0f %%)", 100 * share)
              + (segment.relocated() ? ", relocated" : ""));
    }
  }

  private void row(String name, String text) throws IOException {
    streams.output().line(String.format(Locale.ROOT, "%-20s %s", name, text));
  }
}
