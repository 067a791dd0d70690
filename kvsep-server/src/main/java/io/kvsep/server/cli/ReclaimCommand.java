package io.kvsep.server.cli;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ReclaimReport;
import io.kvsep.server.json.StoreFigures;
import java.io.IOException;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "reclaim",
    description = "Give the space of overwritten, deleted and expired values back.",
    footer = {
      "",
      "Compacts the tables, then copies what is live out of those files of the value",
      "log that are worth it. Files that cannot be read are kept and named, with exit",
      "code 1; others go on."
    })
final class ReclaimCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(names = "--json", description = "As one JSON object.")
  private boolean json;

  ReclaimCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    ReclaimReport report = new ElapsedLine(streams, "reclaim").during(this::reclaim);
    streams.output().line(json ? StoreFigures.json(report).toString() : line(report));
    if (!report.damagedFiles().isEmpty()) {
      throw CommandFailure.failed(
          "damaged, and kept as they are: " + String.join(", ", report.damagedFiles()));
    }
    return Kvsep.DONE;
  }

  private ReclaimReport reclaim() {
    try (KvStore open = store.openExisting(KvOptions.builder())) {
      return open.reclaim();
    }
  }

  private static String line(ReclaimReport report) {
    return "freed "
        + Amounts.bytes(report.bytesFreed())
        + ": rewrote "
        + Amounts.count(report.filesRewritten())
        + " and removed "
        + Amounts.count(report.filesRemoved())
        + " of "
        + Amounts.of(report.filesExamined(), "file")
        + " of the value log; read "
        + Amounts.bytes(report.bytesRead())
        + ", wrote "
        + Amounts.bytes(report.bytesWritten())
        + String.format(Locale.ROOT, " in %.2f s", report.seconds());
  }
}
