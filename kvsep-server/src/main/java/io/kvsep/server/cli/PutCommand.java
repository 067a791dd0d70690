package io.kvsep.server.cli;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.KvWriter;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Sets one key; durable on success. Creates the store if it does not exist. */
@Command(
    name = "put",
    description = "Set KEY to a value. Creates the store when there is none.",
    footer = {"", "Write -- before a KEY or VALUE that begins with a dash."})
final class PutCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final EntryArguments entry = new EntryArguments();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();
  @Mixin private final TtlOption ttl = new TtlOption();

  PutCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    byte[] keyBytes = entry.key();
    byte[] valueBytes = entry.value(streams);
    Duration timeToLive = ttl.timeToLive();
    try (KvStore open = store.openOrCreate(KvOptions.builder().durability(Durability.sync()))) {
      KvWriter writer = keyspace.writerOrNew(open);
      if (timeToLive == null) {
        writer.put(keyBytes, valueBytes);
      } else {
        writer.put(keyBytes, valueBytes, timeToLive);
      }
    }
    return Kvsep.DONE;
  }
}
