package io.kvsep.server.cli;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.server.cli.EntryFile.BadEntryException;
import io.kvsep.server.json.JsonObject;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Loads all valid entries of a file at once, or none. */
@Command(
    name = "import",
    description = "Load the entries in FILE at once: all are there at the end, or none.",
    footer = {
      "",
      "Formats: csv, two columns in UTF-8, key and value; jsonl, an object in each line with key",
      "or keyHex, and value (text) or valueBase64, or as scan --json writes it; binary, for each",
      "entry the lengths of key and value as four bytes, the highest first, then both.",
      "Lines that do not hold are told of and left out, which makes the exit code 1; with --strict",
      "nothing is loaded then. With - for FILE the entries come from standard input. Fastest with",
      "ascending keys. Creates the store when there is none."
    })
final class ImportCommand implements Callable<Integer> {
  /** Most bad lines that are printed; further ones are only counted. */
  private static final int TOLD_MAX = 20;

  private static final int BUFFER_BYTES = 1 << 16;

  private enum Format {
    CSV,
    JSONL,
    BINARY
  }

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Parameters(index = "0", paramLabel = "FILE", description = "Where the entries are.")
  private String file = "";

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description = "csv, jsonl or binary (default: by the ending of FILE).")
  private @Nullable Format format;

  @Option(
      names = "--separator",
      paramLabel = "C",
      defaultValue = ",",
      description = "What separates the columns of csv (default: a comma).")
  private char separator = ',';

  @Option(names = "--header", description = "The first record of csv names the columns.")
  private boolean header;

  @Option(names = "--strict", description = "Load nothing when a line does not hold.")
  private boolean strict;

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private final Skipped skipped = new Skipped();

  ImportCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    Format given = format == null ? byName() : format;
    if (given == Format.CSV && !CsvEntries.maySeparate(separator)) {
      throw CommandFailure.misused("--separator: not a quotation mark and not the end of a line");
    }
    long start = System.nanoTime();
    if (file.equals(Streams.STANDARD)) {
      load(streams.input(), 0, given, start);
    } else {
      // Opened first, so that a missing file creates no store.
      try (InputStream input = Files.newInputStream(Path.of(file))) {
        load(input, Files.size(Path.of(file)), given, start);
      }
    }
    skipped.requireNone("line", "imported");
    return Kvsep.DONE;
  }

  private Format byName() {
    String name = file.toLowerCase(Locale.ROOT);
    if (name.endsWith(".csv")) {
      return Format.CSV;
    }
    if (name.endsWith(".jsonl") || name.endsWith(".ndjson")) {
      return Format.JSONL;
    }
    if (name.endsWith(".bin")) {
      return Format.BINARY;
    }
    throw CommandFailure.misused("--format is wanted: the name of FILE does not tell");
  }

  private void load(InputStream input, long planned, Format given, long start) throws IOException {
    long count;
    long bytes;
    try (KvStore open = store.openOrCreate(KvOptions.builder());
        ProgressBar bar = new ProgressBar(streams, "import", planned)) {
      CountedInput counter = new CountedInput(input, bar);
      BufferedInputStream buffered = new BufferedInputStream(counter, BUFFER_BYTES);
      EntryFile entries =
          switch (given) {
            case CSV -> new CsvEntries(buffered, separator, header);
            case JSONL -> new JsonEntries(buffered);
            case BINARY -> new BinaryEntries(buffered);
          };
      count = keyspace.bulkLoad(open, new Entries(entries));
      bytes = counter.bytes();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    report(count, bytes, System.nanoTime() - start);
  }

  private void report(long count, long bytes, long nanos) throws IOException {
    streams
        .output()
        .line(
            json
                ? new JsonObject()
                    .put("entries", count)
                    .put("bytes", bytes)
                    .put("skipped", skipped.count())
                    .put("seconds", Amounts.seconds(nanos))
                    .toString()
                : String.format(
                    Locale.ROOT,
                    "imported %s, %s, in %.1f s (%.1f MB/s)",
                    Amounts.count(count) + (count == 1 ? " entry" : " entries"),
                    Amounts.bytes(bytes),
                    Amounts.seconds(nanos),
                    Amounts.megabytesPerSecond(bytes, nanos)));
  }

  private void skip(BadEntryException bad) {
    if (strict) {
      throw CommandFailure.failed(bad.where() + ": " + bad.why() + "; nothing was imported");
    }
    skipped.add(bad.where(), bad.why());
    if (skipped.count() <= TOLD_MAX) {
      streams.errors().println(Kvsep.line(bad.where() + ": " + bad.why()));
    }
  }

  /** The valid entries of a file; reports the others. */
  private final class Entries implements Iterator<Map.Entry<byte[], byte[]>> {
    private final EntryFile entries;
    private Map.@Nullable Entry<byte[], byte[]> next;
    private boolean ended;

    Entries(EntryFile entries) {
      this.entries = entries;
    }

    @Override
    public boolean hasNext() {
      while (next == null && !ended) {
        try {
          next = entries.next();
          ended = next == null;
        } catch (BadEntryException e) {
          skip(e);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
      return !ended;
    }

    @Override
    public Map.Entry<byte[], byte[]> next() {
      Map.Entry<byte[], byte[]> entry = hasNext() ? next : null;
      if (entry == null) {
        throw new NoSuchElementException();
      }
      next = null;
      return entry;
    }
  }
}
