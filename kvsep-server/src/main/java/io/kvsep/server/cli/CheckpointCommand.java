package io.kvsep.server.cli;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "checkpoint",
    description = "Make a copy of the store in TARGET, which must not exist.",
    footer = {
      "",
      "Files are not copied but get a second name where the file system can do that,",
      "so it takes a moment whatever the size. The copy is a store of its own."
    })
final class CheckpointCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Parameters(index = "0", paramLabel = "TARGET", description = "The directory to make.")
  private Path target = Path.of("");

  @Option(names = "--json", description = "As one JSON object.")
  private boolean json;

  CheckpointCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    double seconds = new ElapsedLine(streams, "checkpoint").during(this::checkpoint);
    long files = 0;
    long bytes = 0;
    try (Stream<Path> made = Files.list(target)) {
      for (Path file : made.toList()) {
        files++;
        bytes += Files.size(file);
      }
    }
    streams.output().line(json ? json(files, bytes, seconds) : line(files, bytes, seconds));
    return Kvsep.DONE;
  }

  /** Returns the seconds it took. */
  private double checkpoint() {
    try (KvStore open = store.openExisting(KvOptions.builder())) {
      long start = System.nanoTime();
      open.checkpoint(target);
      return Amounts.seconds(System.nanoTime() - start);
    }
  }

  private String line(long files, long bytes, double seconds) {
    return "made "
        + target
        + ": "
        + Amounts.of(files, "file")
        + ", "
        + Amounts.bytes(bytes)
        + String.format(Locale.ROOT, " in %.2f s", seconds);
  }

  private String json(long files, long bytes, double seconds) {
    return new JsonObject()
        .put("directory", target.toString())
        .put("files", files)
        .put("bytes", bytes)
        .put("seconds", seconds)
        .toString();
  }
}
