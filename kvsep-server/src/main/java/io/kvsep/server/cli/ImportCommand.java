package io.kvsep.server.cli;

import io.kvsep.ExpiringEntry;
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
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Loads all valid entries of a file, or of a database of another engine, at once, or none. */
@Command(
    name = "import",
    description = "Load the entries in FILE at once: all are there at the end, or none.",
    footer = {
      "",
      "Formats: csv, two columns in UTF-8, key and value, or any columns with",
      "--key-column; jsonl, an object in each line with key or keyHex, and value",
      "(text) or valueBase64, or as scan --json writes it; binary, for each entry the",
      "lengths of key and value as four bytes, the highest first, then both. Lines of",
      "jsonl may name a keyspace, as dump writes them; each run of lines of one",
      "keyspace is then loaded at once. With --ttl entries without an expiry of their",
      "own get one. Lines that do not hold are told of and left out, which makes the",
      "exit code 1; with --strict nothing is loaded then. With - for FILE the entries",
      "come from standard input. Fastest with ascending keys. Creates the store when",
      "there is none.",
      "",
      "With --from, FILE is the directory of a LevelDB or RocksDB database, which is",
      "not changed:",
      "kvsep import --from leveldb --class-path leveldb-0.12-uber.jar OLD --dir NEW"
    })
final class ImportCommand implements Callable<Integer> {
  private static final int BUFFER_BYTES = 1 << 16;

  private enum Format {
    CSV,
    JSONL,
    BINARY
  }

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();
  @Mixin private final TtlOption ttl = new TtlOption();
  @Mixin private final ForeignOptions foreign = new ForeignOptions();

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

  @Option(
      names = "--key-column",
      paramLabel = "NAME",
      description = "The first record of csv names any columns; keys are in the column NAME.")
  private @Nullable String keyColumn;

  @Option(
      names = "--value",
      paramLabel = "FORM",
      description =
          "What the other columns become: json, an object of text (default), or columns, a record"
              + " of csv; needs --key-column.")
  private CsvTable.@Nullable Form form;

  @Option(names = "--strict", description = "Load nothing when a line does not hold.")
  private boolean strict;

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private final Skipped skipped = new Skipped();
  private long loaded;

  ImportCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    if (foreign.isGiven()) {
      loadForeign(System.nanoTime());
      skipped.requireNone("key", "imported");
      return Kvsep.DONE;
    }
    Format given = format == null ? byName() : format;
    if (given == Format.CSV && !CsvRecords.maySeparate(separator)) {
      throw CommandFailure.misused("--separator: not a quotation mark and not the end of a line");
    }
    if (form != null && keyColumn == null) {
      throw CommandFailure.misused("--value needs --key-column");
    }
    if (given != Format.CSV && keyColumn != null) {
      throw CommandFailure.misused("--key-column is for csv");
    }
    long start = System.nanoTime();
    if (file.equals(Streams.STANDARD)) {
      load(streams.input(), ProgressBar.UNKNOWN, given, start);
    } else {
      // Opened first, so that a missing file creates no store.
      try (InputStream input = Streams.file(Path.of(file))) {
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
    throw CommandFailure.misused(
        "--format is wanted: the name of FILE does not end with .csv, .jsonl, .ndjson or .bin");
  }

  private void load(InputStream input, long planned, Format given, long start) throws IOException {
    long count;
    long bytes;
    try (ProgressBar bar = new ProgressBar(streams, "import", planned)) {
      CountedInput counter = new CountedInput(input, bar);
      // Reads a header, so that a wrong one creates no store.
      EntryFile entries = entries(new BufferedInputStream(counter, BUFFER_BYTES), given);
      try (KvStore open = store.openOrCreate(KvOptions.builder())) {
        count = load(open, new Entries(entries, read -> {}));
      }
      bytes = counter.bytes();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    report(count, bytes, System.nanoTime() - start);
  }

  private EntryFile entries(BufferedInputStream input, Format given) throws IOException {
    return switch (given) {
      case CSV ->
          keyColumn == null
              ? new CsvEntries(input, separator, header)
              : new CsvTable(input, separator, keyColumn, form == null ? CsvTable.Form.JSON : form);
      case JSONL -> new JsonEntries(input);
      case BINARY -> new BinaryEntries(input);
    };
  }

  private void loadForeign(long start) throws IOException {
    if (format != null || header || keyColumn != null || form != null) {
      throw CommandFailure.misused("--from needs no format");
    }
    Path directory = Path.of(file);
    Path target = store.directory().toAbsolutePath();
    Path parent = Objects.requireNonNullElse(target.getParent(), target);
    long count;
    Entries entries;
    // The source is opened first, so that a missing one creates no store.
    try (ForeignEntries source = foreign.open(directory, parent);
        KvStore open = store.openOrCreate(KvOptions.builder());
        ProgressBar bar = new ProgressBar(streams, "import", ForeignOptions.bytes(directory))) {
      entries = new Entries(source, bar::advance);
      count = load(open, entries);
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    report(count, entries.bytes, System.nanoTime() - start);
  }

  private long load(KvStore open, Entries entries) {
    do {
      String own = entries.beginRun();
      loaded += keyspace.bulkLoad(open, own, entries);
    } while (!entries.ended);
    return loaded;
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
      String before = loaded == 0 ? "nothing was" : Amounts.count(loaded) + " entries were";
      throw CommandFailure.failed(bad.where() + ": " + bad.why() + "; " + before + " imported");
    }
    skipped.addAndTell(bad.where(), bad.why(), streams);
  }

  /** The valid entries of a file, by runs of one keyspace; reports the others. */
  private final class Entries implements Iterator<Map.Entry<byte[], byte[]>> {
    private final EntryFile entries;
    private final LongConsumer progress;
    private final @Nullable Long expiresAtMillis = ttl.expiresAtMillis();
    private Map.@Nullable Entry<byte[], byte[]> next;
    private @Nullable String keyspaceOfRun;
    private boolean ended;
    private long bytes;

    /**
     * @param progress gets the bytes of each entry that is read
     */
    Entries(EntryFile entries, LongConsumer progress) {
      this.entries = entries;
      this.progress = progress;
    }

    /** Begins the next run and returns its keyspace, null if its entries name none. */
    @Nullable String beginRun() {
      peek();
      keyspaceOfRun = entries.keyspace();
      return keyspaceOfRun;
    }

    @Override
    public boolean hasNext() {
      peek();
      return !ended && Objects.equals(entries.keyspace(), keyspaceOfRun);
    }

    private void peek() {
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
    }

    @Override
    public Map.Entry<byte[], byte[]> next() {
      streams.output().requireNotInterrupted();
      Map.Entry<byte[], byte[]> entry = hasNext() ? next : null;
      if (entry == null) {
        throw new NoSuchElementException();
      }
      next = null;
      int read = entry.getKey().length + entry.getValue().length;
      bytes += read;
      progress.accept(read);
      return expiresAtMillis == null || entry instanceof ExpiringEntry
          ? entry
          : new ExpiringEntry(entry.getKey(), entry.getValue(), expiresAtMillis);
    }
  }
}
