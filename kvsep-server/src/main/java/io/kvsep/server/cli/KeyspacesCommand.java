package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.server.json.ByteText;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "keyspaces",
    description = "List the keyspaces, with about how many entries and bytes each has.",
    footer = {
      "",
      "The first is the store's own, which has no name. The figures are estimates from",
      "indexes, as those of count --approximate and size --approximate."
    })
final class KeyspacesCommand implements Callable<Integer> {
  /** Shown for the store's own keyspace. */
  private static final String OWN = "(default)";

  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(
      names = "--json",
      description = "One JSON object per line; the store's own keyspace has no name.")
  private boolean json;

  private record Row(String name, long entries, long bytes) {
    static Row of(String name, KvReader reader) {
      return new Row(
          name, reader.approximateCount(null, null), reader.approximateBytes(null, null));
    }
  }

  KeyspacesCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    List<Row> rows = new ArrayList<>();
    try (KvStore open = store.openToRead()) {
      KeyspaceOption.all(open).forEach((name, reader) -> rows.add(Row.of(name, reader)));
    }
    if (json) {
      for (Row row : rows) {
        streams.output().line(json(row));
      }
    } else {
      show(rows);
    }
    return Kvsep.DONE;
  }

  private static String json(Row row) {
    JsonObject object = new JsonObject();
    if (!row.name().isEmpty()) {
      object.put("keyspace", row.name());
    }
    return object
        .put("entriesEstimate", row.entries())
        .put("bytesEstimate", row.bytes())
        .toString();
  }

  private void show(List<Row> rows) throws IOException {
    int columns =
        rows.stream().mapToInt(row -> shown(row.name()).length()).max().orElse(OWN.length());
    String format = "%-" + columns + "s  %15s  %9s";
    streams.output().line(String.format(Locale.ROOT, format, "keyspace", "entries", "size"));
    for (Row row : rows) {
      String size = Amounts.bytes(row.bytes());
      streams
          .output()
          .line(
              String.format(
                  Locale.ROOT, format, shown(row.name()), Amounts.count(row.entries()), size));
    }
  }

  private static String shown(String name) {
    return name.isEmpty() ? OWN : ByteText.show(name.getBytes(UTF_8));
  }
}
