package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.error.CorruptionException;
import io.kvsep.server.json.ByteText;
import io.kvsep.server.json.EntryLine;
import io.kvsep.server.json.JsonObject;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "dump",
    description = "Write all entries of all keyspaces to FILE, which must not exist, as text.",
    footer = {
      "",
      "A line is a JSON object: keyspace unless it is the store's own, key, keyHex",
      "when key is not UTF-8, valueLength, value in base64, expiresAtMillis. kvsep",
      "import loads it into a store. A backup is shorter and faster; a dump can be",
      "read and edited. With - for FILE it goes to standard output, the report to",
      "standard error. An entry whose value is damaged is told of and left out, which",
      "makes the exit code 1."
    })
final class DumpCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Parameters(index = "0", paramLabel = "FILE", description = "Where the entries go.")
  private String file = "";

  @Option(names = "--json", description = "Report as one JSON object.")
  private boolean json;

  private final Skipped damaged = new Skipped();
  private long entries;
  private long bytes;

  DumpCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    long start = System.nanoTime();
    try (KvStore open = store.openToRead()) {
      Map<String, KvReader> all =
          keyspace.isGiven()
              ? Map.of(keyspace.name(), keyspace.reader(open))
              : KeyspaceOption.all(open);
      if (file.equals(Streams.STANDARD)) {
        write(all, streams.output());
      } else {
        writeFile(all);
      }
    }
    String report = report(System.nanoTime() - start);
    if (file.equals(Streams.STANDARD)) {
      streams.errors().println(report);
    } else {
      streams.output().line(report);
    }
    damaged.requireNone("value", "read");
    return Kvsep.DONE;
  }

  /** The file is durable on return, and removed on failure or interrupt. */
  private void writeFile(Map<String, KvReader> all) throws IOException {
    try (UnfinishedFile target = new UnfinishedFile(Path.of(file))) {
      OutputStream output =
          new BufferedOutputStream(Channels.newOutputStream(target.channel()), 1 << 16);
      write(all, output);
      output.flush();
      target.finish();
    } catch (IOException e) {
      throw UnfinishedFile.named(Path.of(file), e);
    }
  }

  private void write(Map<String, KvReader> all, OutputStream output) throws IOException {
    long about = 0;
    for (KvReader reader : all.values()) {
      about += reader.approximateCount(null, null);
    }
    ProgressBar.Unit entry = ProgressBar.Unit.ENTRIES;
    try (ProgressBar bar =
        output == streams.output()
            ? ProgressBar.besideOutput(streams, "dump", about, entry)
            : new ProgressBar(streams, "dump", about, entry)) {
      for (Map.Entry<String, KvReader> each : all.entrySet()) {
        try (KvCursor cursor = each.getValue().cursor()) {
          while (cursor.next()) {
            write(each.getKey(), cursor, output);
            bar.advance(1);
          }
        }
      }
    }
  }

  private void write(String name, KvCursor cursor, OutputStream output) throws IOException {
    byte[] start;
    byte[] end;
    ByteBuffer value;
    try {
      start = EntryLine.upToValue(name, cursor).getBytes(UTF_8);
      end = ('"' + EntryLine.end(cursor) + '\n').getBytes(UTF_8);
      value = cursor.valueView();
    } catch (CorruptionException e) {
      // The other entries are sound.
      damaged.addAndTell(ByteText.show(cursor.key()), Kvsep.reason(e), streams);
      return;
    }
    output.write(start);
    bytes += start.length + ByteText.writeBase64(value, output) + end.length;
    output.write(end);
    entries++;
  }

  private String report(long nanos) {
    return json
        ? new JsonObject()
            .put("entries", entries)
            .put("bytes", bytes)
            .put("skipped", damaged.count())
            .put("seconds", Amounts.seconds(nanos))
            .toString()
        : String.format(
            Locale.ROOT,
            "wrote %s, %s, in %.1f s (%.1f MB/s)",
            Amounts.count(entries) + (entries == 1 ? " entry" : " entries"),
            Amounts.bytes(bytes),
            Amounts.seconds(nanos),
            Amounts.megabytesPerSecond(bytes, nanos));
  }
}
