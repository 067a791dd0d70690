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
    name = "count",
    description = "Print the number of entries, of all keys or of a range.",
    footer = {
      "",
      "Goes over all keys of the range, without their values. --approximate takes the",
      "number from indexes, at once, and also counts what was replaced or deleted",
      "since the last compaction."
    })
final class CountCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();
  @Mixin private final RangeOptions range = new RangeOptions();

  @Option(names = "--approximate", description = "Estimate, without going over the keys.")
  private boolean approximate;

  @Option(names = "--json", description = "As one JSON object.")
  private boolean json;

  CountCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    RangeOptions.Range keys = range.range();
    long entries;
    try (KvStore open = store.openToRead()) {
      KvReader reader = keyspace.reader(open);
      long about = reader.approximateCount(keys.first(), keys.end());
      entries = approximate ? about : count(reader, keys, about);
    }
    streams
        .output()
        .line(
            json
                ? new JsonObject()
                    .put("entries", entries)
                    .put("approximate", approximate)
                    .toString()
                : Long.toString(entries));
    return Kvsep.DONE;
  }

  private long count(KvReader reader, RangeOptions.Range keys, long about) {
    long entries = 0;
    try (ProgressBar bar = new ProgressBar(streams, "count", about, ProgressBar.Unit.ENTRIES);
        KvCursor cursor = reader.cursor(keys.scan().keysOnly())) {
      while (cursor.next()) {
        entries++;
        bar.advance(1);
      }
    }
    return entries;
  }
}
