package io.kvsep.server;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Merges all tables into one level. */
@Command(
    name = "compact",
    description = "Merge all tables into the last level and drop what nobody can see any more.")
final class CompactCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  CompactCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    try (KvStore open = store.openExisting(KvOptions.builder())) {
      StoreStats before = open.stats();
      open.compact();
      StoreStats after = open.stats();
      streams
          .output()
          .line(
              "tables: "
                  + Amounts.bytes(before.tableBytes())
                  + " before, "
                  + Amounts.bytes(after.tableBytes())
                  + " after; value log: "
                  + Amounts.bytes(before.logBytes())
                  + " before, "
                  + Amounts.bytes(after.logBytes())
                  + " after");
    }
    return Kvsep.DONE;
  }
}
