package io.kvsep.server.cli;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "compact",
    description = "Merge all tables into the last level and drop what no reader can see.",
    footer = {
      "",
      "Runs to its end in a shell, where Ctrl-C does not stop it. Killing the process",
      "leaves a sound store."
    })
final class CompactCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(names = "--json", description = "As one JSON object.")
  private boolean json;

  private record Lengths(
      long tableBytesBefore, long tableBytesAfter, long logBytesBefore, long logBytesAfter) {}

  CompactCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    Lengths lengths = new ElapsedLine(streams, "compact").during(this::compact);
    streams.output().line(json ? json(lengths) : line(lengths));
    return Kvsep.DONE;
  }

  private Lengths compact() {
    try (KvStore open = store.openExisting(KvOptions.builder())) {
      StoreStats before = open.stats();
      open.compact();
      StoreStats after = open.stats();
      return new Lengths(
          before.tableBytes(), after.tableBytes(), before.logBytes(), after.logBytes());
    }
  }

  private static String line(Lengths lengths) {
    return "tables: "
        + Amounts.bytes(lengths.tableBytesBefore())
        + " before, "
        + Amounts.bytes(lengths.tableBytesAfter())
        + " after; value log: "
        + Amounts.bytes(lengths.logBytesBefore())
        + " before, "
        + Amounts.bytes(lengths.logBytesAfter())
        + " after";
  }

  private static String json(Lengths lengths) {
    return new JsonObject()
        .put("tableBytesBefore", lengths.tableBytesBefore())
        .put("tableBytesAfter", lengths.tableBytesAfter())
        .put("logBytesBefore", lengths.logBytesBefore())
        .put("logBytesAfter", lengths.logBytesAfter())
        .toString();
  }
}
