package io.kvsep.server.cli;

import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import io.kvsep.server.json.JsonObject;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "backup",
    description = "Write the store, or what has changed in it, to FILE, which must not exist.",
    footer = {
      "",
      "The report has the sequence number that the backup reaches; --since takes it",
      "for the next one. With - for FILE the backup goes to standard output, the",
      "report to standard error."
    })
final class BackupCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Parameters(index = "0", paramLabel = "FILE", description = "Where the backup goes.")
  private String file = "";

  @Option(
      names = "--since",
      paramLabel = "N",
      description = "Only what has changed since the backup that reached N.")
  private long since;

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private long bytes;

  BackupCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    if (since < 0) {
      throw CommandFailure.misused("--since takes a number that a backup has reached");
    }
    long start = System.nanoTime();
    long sequence;
    try (KvStore open = store.openToRead()) {
      sequence = file.equals(Streams.STANDARD) ? write(open, streams.output()) : writeFile(open);
    }
    double seconds = Amounts.seconds(System.nanoTime() - start);
    String report = json ? json(sequence, seconds) : line(sequence, seconds);
    if (file.equals(Streams.STANDARD)) {
      streams.errors().println(report);
    } else {
      streams.output().line(report);
    }
    return Kvsep.DONE;
  }

  /** The file is durable on return, and removed on failure or interrupt. */
  private long writeFile(KvStore open) throws IOException {
    try (UnfinishedFile target = new UnfinishedFile(Path.of(file))) {
      long sequence = write(open, Channels.newOutputStream(target.channel()));
      target.finish();
      return sequence;
    }
  }

  private long write(KvStore open, OutputStream output) {
    StoreStats stats = open.stats();
    long planned = since > 0 ? ProgressBar.UNKNOWN : stats.logLiveBytes() + stats.tableBytes();
    ProgressBar.Unit unit = ProgressBar.Unit.BYTES;
    try (ProgressBar bar =
        output == streams.output()
            ? ProgressBar.besideOutput(streams, "backup", planned, unit)
            : new ProgressBar(streams, "backup", planned, unit)) {
      return open.backup(
          new FilterOutputStream(output) {
            @Override
            public void write(byte[] source, int from, int count) throws IOException {
              out.write(source, from, count);
              bytes += count;
              bar.advance(count);
            }
          },
          since);
    } catch (IllegalArgumentException e) {
      throw CommandFailure.failed(String.valueOf(e.getMessage()));
    }
  }

  private String line(long sequence, double seconds) {
    return "wrote "
        + Amounts.bytes(bytes)
        + String.format(Locale.ROOT, " in %.2f s", seconds)
        + ", up to "
        + sequence
        + " (the next one: --since "
        + sequence
        + ")";
  }

  private String json(long sequence, double seconds) {
    return new JsonObject()
        .put("sequence", sequence)
        .put("since", since)
        .put("bytes", bytes)
        .put("seconds", seconds)
        .toString();
  }
}
