package io.kvsep.server.cli;

import io.kvsep.KvStore;
import io.kvsep.VerifyReport;
import io.kvsep.error.CorruptionException;
import io.kvsep.server.json.StoreFigures;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "verify",
    description = "Read and check every byte of the store.",
    footer = {
      "",
      "Changes nothing. Every problem is a line that names file and offset; exit code",
      "0 means that there is none, 1 that there are some, or that the store cannot be",
      "read."
    })
final class VerifyCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(names = "--json", description = "As one JSON object.")
  private boolean json;

  VerifyCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    VerifyReport report = new ElapsedLine(streams, "verify").during(this::verify);
    try {
      if (json) {
        streams.output().line(StoreFigures.json(report).toString());
      } else {
        show(report);
      }
    } catch (StandardOutput.ReaderGoneException e) {
      // The reader has gone, but the exit code still reports the result.
    }
    if (!report.isSound()) {
      throw CommandFailure.failed(Amounts.of(report.problemCount(), "problem") + " found");
    }
    return Kvsep.DONE;
  }

  private VerifyReport verify() {
    try (KvStore open = store.openToRead()) {
      return open.verify();
    } catch (CorruptionException e) {
      // Too damaged to open: nothing else was checked.
      VerifyReport.Problem problem =
          new VerifyReport.Problem(e.file(), e.offset(), e.expected(), e.found());
      return new VerifyReport(0, 0, 0, 0, 1, List.of(problem), List.of(), 0);
    }
  }

  private void show(VerifyReport report) throws IOException {
    for (VerifyReport.Problem problem : report.problems()) {
      streams.output().line(problem.toString());
    }
    long more = report.problemCount() - report.problems().size();
    if (more > 0) {
      streams.output().line("and " + Amounts.of(more, "more problem"));
    }
    for (String file : report.unknownFiles()) {
      streams.output().line(file + " is no part of the store");
    }
    streams
        .output()
        .line(
            (report.isSound() ? "sound: " : "checked ")
                + Amounts.of(report.files(), "file")
                + ", "
                + Amounts.bytes(report.bytes())
                + " with "
                + Amounts.count(report.entries())
                + " entries of tables and "
                + Amounts.count(report.records())
                + " records of the log"
                + String.format(Locale.ROOT, " in %.2f s", report.seconds()));
  }
}
