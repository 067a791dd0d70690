package io.kvsep.server.cli;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.KvWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Sets one key; durable on success. Creates the store if it does not exist. */
@Command(
    name = "put",
    description = "Set KEY to a value. Creates the store when there is none.",
    footer = {"", "Write -- before a KEY or VALUE that begins with a dash."})
final class PutCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyArgument key = new KeyArgument();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "VALUE",
      description = "The value, as UTF-8 text; - reads it from standard input.")
  private @Nullable String value;

  @Option(names = "--value-hex", description = "VALUE is hexadecimal digits.")
  private boolean valueHex;

  @Option(
      names = "--value-file",
      paramLabel = "FILE",
      description = "Take the value from FILE; - reads standard input.")
  private @Nullable Path valueFile;

  @Option(
      names = "--ttl",
      paramLabel = "TIME",
      converter = Amounts.TimeToLive.class,
      description = "The entry expires after TIME: 10s, 5m, 2h, 1d or ISO-8601 such as PT90S.")
  private @Nullable Duration timeToLive;

  PutCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    byte[] keyBytes = key.bytes();
    byte[] valueBytes = valueBytes();
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

  private byte[] valueBytes() throws IOException {
    if ((value == null) == (valueFile == null)) {
      throw CommandFailure.misused("give either VALUE or --value-file");
    }
    if (valueFile != null) {
      if (valueHex) {
        throw CommandFailure.misused("--value-hex needs VALUE, not --value-file");
      }
      return valueFile.toString().equals(Streams.STANDARD)
          ? streams.input().readAllBytes()
          : Files.readAllBytes(valueFile);
    }
    if (Streams.STANDARD.equals(value) && !valueHex) {
      return streams.input().readAllBytes();
    }
    return KeyNotation.parse("VALUE", String.valueOf(value), valueHex);
  }
}
