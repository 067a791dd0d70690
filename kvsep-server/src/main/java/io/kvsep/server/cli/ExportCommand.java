package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.error.CorruptionException;
import io.kvsep.server.json.ByteText;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "export",
    description =
        "Write every entry of a keyspace, the store's own by default, to a file below FOLDER: the"
            + " key is its relative path.",
    footer = {
      "",
      "With --all-keyspaces each keyspace is a folder below FOLDER with its name; that",
      "of the store's own is default. Keys that are no relative path inside FOLDER",
      "(.., a leading slash, not UTF-8, too long) and, without --force, files that",
      "exist already are left out, which makes the exit code 1. A file has its name",
      "once it is whole; with --force the one before is there until then."
    })
final class ExportCommand implements Callable<Integer> {
  /** Of the store's own keyspace, which has no name. */
  private static final String OWN_FOLDER = "default";

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Parameters(index = "0", paramLabel = "FOLDER", description = "Where the files go.")
  private Path folder = Path.of("");

  @Option(names = "--prefix", paramLabel = "P", description = "Only keys that begin with P.")
  private String prefix = "";

  @Option(names = "--key-hex", description = "P is hexadecimal digits.")
  private boolean keyHex;

  @Option(names = "--all-keyspaces", description = "All keyspaces, each in a folder of its own.")
  private boolean allKeyspaces;

  @Option(names = "--force", description = "Replace files that exist already.")
  private boolean force;

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private final Skipped skipped = new Skipped();
  private long files;
  private long bytes;

  ExportCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    ScanOptions selection = ScanOptions.prefix(KeyNotation.parse("--prefix", prefix, keyHex));
    if (allKeyspaces && keyspace.isGiven()) {
      throw CommandFailure.misused("--all-keyspaces goes without --keyspace");
    }
    long start = System.nanoTime();
    int leftOut;
    try (KvStore open = store.openToRead()) {
      Map<String, KvReader> folders = folders(open);
      leftOut = open.keyspaces().size() + 1 - folders.size();
      ExportFolder target = new ExportFolder(folder, store.directory(), force);
      try (ProgressBar bar = new ProgressBar(streams, "export", plannedBytes(folders, selection))) {
        for (Map.Entry<String, KvReader> each : folders.entrySet()) {
          export(each.getKey(), each.getValue().cursor(selection), target, bar);
        }
      }
    }
    new Transfer("wrote", files, bytes, System.nanoTime() - start, skipped.count())
        .report(streams.output(), json);
    if (leftOut > 0 && !keyspace.isGiven() && !json) {
      streams
          .output()
          .line("without " + Amounts.of(leftOut, "keyspace") + ": --all-keyspaces exports all");
    }
    skipped.requireNone("key", "exported");
    return Kvsep.DONE;
  }

  /** What is exported, by the folder below the target; empty for the target itself. */
  private Map<String, KvReader> folders(KvStore open) {
    if (!allKeyspaces) {
      return Map.of("", keyspace.reader(open));
    }
    Map<String, KvReader> folders = new LinkedHashMap<>();
    KeyspaceOption.all(open)
        .forEach(
            (name, reader) -> {
              if (folders.put(name.isEmpty() ? OWN_FOLDER : name, reader) != null) {
                throw CommandFailure.failed(
                    "a keyspace has the name default, as the folder of the store's own: export"
                        + " both one by one");
              }
            });
    return folders;
  }

  private void export(String name, KvCursor entries, ExportFolder target, ProgressBar bar)
      throws IOException {
    try (KvCursor cursor = entries) {
      if (name.contains("/")) {
        skipped.add("keyspace " + name, "is no folder name: holds a slash");
        return;
      }
      byte[] start = name.isEmpty() ? new byte[0] : (name + "/").getBytes(UTF_8);
      while (cursor.next()) {
        export(start, cursor, target);
        bar.advance(cursor.valueLength());
      }
    }
  }

  private void export(byte[] start, KvCursor cursor, ExportFolder target) throws IOException {
    byte[] key = Arrays.copyOf(start, start.length + cursor.keyView().remaining());
    System.arraycopy(cursor.key(), 0, key, start.length, key.length - start.length);
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
  private long plannedBytes(Map<String, KvReader> folders, ScanOptions selection) {
    long total = 0;
    if (streams.errorsAreTerminal()) {
      for (KvReader reader : folders.values()) {
        try (KvCursor cursor = reader.cursor(selection.keysOnly())) {
          while (cursor.next()) {
            streams.output().requireNotInterrupted();
            total += cursor.valueLength();
          }
        }
      }
    }
    return total;
  }
}
