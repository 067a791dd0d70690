package io.kvsep.server.cli;

import io.kvsep.KvStore;
import io.kvsep.RepairReport;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "repair",
    description = "Build a new store of all that can be proved of a damaged one.",
    footer = {
      "",
      "Never changes the damaged store. Lists what is lost, and keys that may be out",
      "of date; exit code 0 means that everything is in the new store, 1 that",
      "something is lost or uncertain, or that nothing could be done."
    })
final class RepairCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(
      names = "--to",
      paramLabel = "NEW",
      required = true,
      description = "Directory of the new store, absent or empty.")
  private Path target = Path.of("");

  @Option(names = "--json", description = "As one JSON object.")
  private boolean json;

  RepairCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    if (Files.notExists(store.directory())) {
      throw CommandFailure.failed(
          "no store in "
              + store.directory()
              + ": there is no such directory (--dir names another)");
    }
    RepairReport report;
    try {
      report =
          new ElapsedLine(streams, "repair")
              .during(() -> KvStore.repair(store.directory(), target));
    } catch (IllegalArgumentException e) {
      throw CommandFailure.misused("--to: " + e.getMessage());
    }
    try {
      if (json) {
        streams.output().line(json(report).toString());
      } else {
        show(report);
      }
    } catch (StandardOutput.ReaderGoneException e) {
      // The reader has gone, but the exit code still reports the result.
    }
    if (!report.isComplete()) {
      throw CommandFailure.failed(
          Amounts.of(report.lossCount(), "lost place")
              + ", "
              + Amounts.of(report.uncertainCount(), "uncertain key"));
    }
    return Kvsep.DONE;
  }

  private void show(RepairReport report) throws IOException {
    for (RepairReport.Loss loss : report.losses()) {
      streams.output().line("lost: " + loss);
    }
    for (RepairReport.UncertainKey key : report.uncertain()) {
      streams.output().line("uncertain: key " + key);
    }
    for (String note : report.notes()) {
      streams.output().line(note);
    }
    streams
        .output()
        .line(
            "restored "
                + Amounts.of(report.keys(), "key")
                + " with "
                + Amounts.bytes(report.valueBytes())
                + " of values into "
                + target
                + "; read "
                + Amounts.of(report.files(), "file")
                + ", "
                + Amounts.bytes(report.bytes())
                + String.format(Locale.ROOT, " in %.2f s", report.seconds()));
  }

  private static JsonObject json(RepairReport report) {
    return new JsonObject()
        .put("complete", report.isComplete())
        .put("manifestUsed", report.manifestUsed())
        .put("files", report.files())
        .put("bytes", report.bytes())
        .put("keys", report.keys())
        .put("valueBytes", report.valueBytes())
        .put("lossCount", report.lossCount())
        .put("losses", report.losses().stream().map(RepairCommand::json).toList())
        .put("uncertainCount", report.uncertainCount())
        .put("uncertain", report.uncertain().stream().map(RepairCommand::json).toList())
        .putNames("notes", report.notes())
        .put("seconds", report.seconds());
  }

  private static JsonObject json(RepairReport.Loss loss) {
    return new JsonObject()
        .put("file", loss.file())
        .put("from", loss.from())
        .put("to", loss.to())
        .put("what", loss.what())
        .put("keyspace", loss.keyspace())
        .put("keyHex", loss.keyHex());
  }

  private static JsonObject json(RepairReport.UncertainKey key) {
    return new JsonObject()
        .put("keyspace", key.keyspace())
        .put("keyHex", key.keyHex())
        .put("restored", key.restored());
  }
}
