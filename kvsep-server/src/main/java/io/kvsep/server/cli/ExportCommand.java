package io.kvsep.server.cli;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.error.CorruptionException;
import io.kvsep.server.json.ByteText;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "export",
    description =
        "Write every entry of the store's own keyspace to a file below FOLDER: the key is its"
            + " relative path.",
    footer = {
      "",
      "Keys that are no relative path inside FOLDER (.., a leading slash, not UTF-8, too long)",
      "and, without --force, files that exist already are left out, which makes the exit code 1.",
      "A file has its name once it is whole; with --force the one before is there until then."
    })
final class ExportCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Parameters(index = "0", paramLabel = "FOLDER", description = "Where the files go.")
  private Path folder = Path.of("");

  @Option(names = "--prefix", paramLabel = "P", description = "Only keys that begin with P.")
  private String prefix = "";

  @Option(names = "--key-hex", description = "P is hexadecimal digits.")
  private boolean keyHex;

  @Option(names = "--force", description = "Replace files that exist already.")
  private boolean force;

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private long files;
  private long bytes;

  ExportCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    ScanOptions selection = ScanOptions.prefix(KeyNotation.parse("--prefix", prefix, keyHex));
    long start = System.nanoTime();
    Skipped skipped = new Skipped();
    try (KvStore open = store.openToRead()) {
      ExportFolder target = new ExportFolder(folder, store.directory(), force);
      try (ProgressBar bar = new ProgressBar(streams, "export", plannedBytes(open, selection));
          KvCursor cursor = open.cursor(selection)) {
        while (cursor.next()) {
          export(cursor, target, skipped);
          bar.advance(cursor.valueLength());
        }
      }
    }
    new Transfer("wrote", files, bytes, System.nanoTime() - start, skipped.count())
        .report(streams.output(), json);
    skipped.requireNone("key", "exported");
    return Kvsep.DONE;
  }

  private void export(KvCursor cursor, ExportFolder target, Skipped skipped) throws IOException {
    byte[] key = cursor.key();
    String refusal;
    try {
      refusal = target.write(key, cursor::valueView);
    } catch (CorruptionException e) {
      // The other entries are sound, and needed when a damaged store is rescued.
      refusal = e.getMessage();
    }
    if (refusal != null) {
      skipped.add(ByteText.show(key), refusal);
    } else {
      files++;
      bytes += cursor.valueLength();
    }
  }

  /** Only needed for a progress bar. Lengths are stored with the keys, so values are not read. */
  private long plannedBytes(KvStore open, ScanOptions selection) {
    long total = 0;
    if (streams.errorsAreTerminal()) {
      try (KvCursor cursor = open.cursor(selection.keysOnly())) {
        while (cursor.next()) {
          total += cursor.valueLength();
        }
      }
    }
    return total;
  }
}
