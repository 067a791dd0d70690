package io.kvsep.server.cli;

import io.kvsep.KvStore;
import io.kvsep.SegmentStats;
import io.kvsep.StoreStats;
import io.kvsep.server.json.StoreFigures;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

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
              StoreFigures.json(stats)
                  .put("segments", StoreFigures.segments(segments))
                  .put("directory", store.directory().toString())
                  .toString());
    } else {
      show(stats);
      show(segments);
    }
    return Kvsep.DONE;
  }

  /** The non-empty levels, such as {@code L0: 2 tables, 1.3 MB; L1: ...}. */
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

  /** A line per segment, such as {@code 000003.vlog 268.4 MB, live 120.1 MB (45 %)}. */
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
