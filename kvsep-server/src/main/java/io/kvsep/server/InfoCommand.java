package io.kvsep.server;

import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
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
    try (KvStore open = store.openToRead()) {
      stats = open.stats();
    }
    if (json) {
      streams.output().line(json(stats).put("directory", store.directory().toString()).toString());
    } else {
      show(stats);
    }
    return Kvsep.DONE;
  }

  private static JsonObject json(StoreStats stats) {
    return new JsonObject()
        .put("entriesEstimate", stats.entriesEstimate())
        .put("keyBytes", stats.keyBytes())
        .put("logBytes", stats.logBytes())
        .put("logLiveBytes", stats.logLiveBytes())
        .put("tableBytes", stats.tableBytes())
        .put("spaceAmplification", stats.spaceAmplification())
        .put("levels", levels(stats))
        .put("replayedBytes", stats.replayedBytes())
        .put("tornBytes", stats.tornBytes());
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
        Amounts.bytes(stats.logBytes()) + ", live " + Amounts.bytes(stats.logLiveBytes()));
    row("tables", Amounts.bytes(stats.tableBytes()));
    row("levels", levelsLine(stats));
    row("space amplification", String.format(Locale.ROOT, "%.2f", stats.spaceAmplification()));
    row(
        "recovery now",
        Amounts.bytes(stats.replayedBytes())
            + " of log read again, "
            + Amounts.bytes(stats.tornBytes())
            + " torn");
  }

  private void row(String name, String text) throws IOException {
    streams.output().line(String.format(Locale.ROOT, "%-20s %s", name, text));
  }
}
