package io.kvsep.server.cli;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "size",
    description = "Print the bytes of keys and values, of all keys or of a range.",
    footer = {
      "",
      "Adds up the lengths of keys and values as they were given. --approximate takes",
      "the bytes that they use in the files from indexes, at once: compressed, with",
      "what is stored beside them and what was replaced or deleted since the last",
      "compaction."
    })
final class SizeCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();
  @Mixin private final RangeOptions range = new RangeOptions();

  @Option(names = "--approximate", description = "Estimate, without going over the keys.")
  private boolean approximate;

  @Option(
      names = "--json",
      description = "As one JSON object: bytes, and, without --approximate, their parts.")
  private boolean json;

  private long keyBytes;
  private long valueBytes;

  SizeCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    RangeOptions.Range keys = range.range();
    long bytes;
    try (KvStore open = store.openToRead()) {
      KvReader reader = keyspace.reader(open);
      if (approximate) {
        bytes = reader.approximateBytes(keys.first(), keys.end());
      } else {
        add(reader, keys);
        bytes = keyBytes + valueBytes;
      }
    }
    streams.output().line(json ? json(bytes) : Long.toString(bytes));
    return Kvsep.DONE;
  }

  private void add(KvReader reader, RangeOptions.Range keys) {
    long about = reader.approximateCount(keys.first(), keys.end());
    try (ProgressBar bar = new ProgressBar(streams, "size", about, ProgressBar.Unit.ENTRIES);
        KvCursor cursor = reader.cursor(keys.scan().keysOnly())) {
      while (cursor.next()) {
        keyBytes += cursor.keyView().remaining();
        valueBytes += cursor.valueLength();
        bar.advance(1);
      }
    }
  }

  private String json(long bytes) {
    JsonObject object = new JsonObject().put("bytes", bytes).put("approximate", approximate);
    if (!approximate) {
      object.put("keyBytes", keyBytes).put("valueBytes", valueBytes);
    }
    return object.toString();
  }
}
