package io.kvsep.server.cli;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.server.json.JsonObject;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "restore",
    description = "Put the backup in FILE into a new store, or changes into a restored one.",
    footer = {
      "",
      "Of several backups one behind the other, each is restored. With - for FILE they",
      "come from standard input. One that is cut, damaged, interrupted or does not fit",
      "changes nothing."
    })
final class RestoreCommand implements Callable<Integer> {
  /** The first bytes of a backup. */
  private static final String MAGIC = "KVSEPBAK";

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Parameters(index = "0", paramLabel = "FILE", description = "Where the backup is.")
  private String file = "";

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private long bytes;

  RestoreCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    long start = System.nanoTime();
    long sequence;
    if (file.equals(Streams.STANDARD)) {
      sequence = restore(streams.input(), ProgressBar.UNKNOWN);
    } else {
      // Opened first, so that a missing file creates no store.
      try (InputStream input = Streams.file(Path.of(file))) {
        sequence = restore(input, Files.size(Path.of(file)));
      }
    }
    double seconds = Amounts.seconds(System.nanoTime() - start);
    streams.output().line(json ? json(sequence, seconds) : line(sequence, seconds));
    return Kvsep.DONE;
  }

  private long restore(InputStream input, long planned) throws IOException {
    try (ProgressBar bar = new ProgressBar(streams, "restore", planned)) {
      CountedInput counter = new CountedInput(input, bar);
      InputStream counted = new BufferedInputStream(counter, 1 << 16);
      // Checked first, so that another file creates no store.
      requireBackup(counted);
      long sequence;
      try (KvStore open = store.openOrCreate(KvOptions.builder())) {
        boolean more;
        do {
          sequence = open.restore(counted);
          counted.mark(1);
          more = counted.read() >= 0;
          counted.reset();
        } while (more);
      }
      bytes = counter.bytes();
      return sequence;
    }
  }

  private void requireBackup(InputStream input) throws IOException {
    input.mark(MAGIC.length());
    String found = new String(input.readNBytes(MAGIC.length()), StandardCharsets.ISO_8859_1);
    input.reset();
    if (!found.equals(MAGIC)) {
      String name = file.equals(Streams.STANDARD) ? "standard input" : file;
      throw CommandFailure.failed(name + ": not a backup, which begins with " + MAGIC);
    }
  }

  private String line(long sequence, double seconds) {
    return "restored "
        + Amounts.bytes(bytes)
        + String.format(Locale.ROOT, " in %.2f s", seconds)
        + ", up to "
        + sequence;
  }

  private String json(long sequence, double seconds) {
    return new JsonObject()
        .put("sequence", sequence)
        .put("bytes", bytes)
        .put("seconds", seconds)
        .toString();
  }
}
