package io.kvsep.server.cli;

import io.kvsep.Durability;
import io.kvsep.KeyspaceView;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.server.json.ByteText;
import java.io.IOException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Compare and set; durable on success. Creates the store if the key has to be absent. */
@Command(
    name = "cas",
    description = "Set KEY to a value if its present value is the expected one, or KEY is absent.",
    footer = {
      "",
      "Exit code 1 when the present value is another one; nothing is changed then.",
      "Write -- before a KEY or VALUE that begins with a dash."
    })
final class CasCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final EntryArguments entry = new EntryArguments();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Option(
      names = "--expected",
      paramLabel = "OLD",
      description = "Set KEY if its value is OLD, UTF-8 text.")
  private @Nullable String expected;

  @Option(names = "--expected-hex", description = "OLD is hexadecimal digits.")
  private boolean expectedHex;

  @Option(names = "--absent", description = "Set KEY if there is none.")
  private boolean absent;

  CasCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException {
    if (absent == (expected != null) || (absent && expectedHex)) {
      throw CommandFailure.misused("give either --expected or --absent");
    }
    byte[] keyBytes = entry.key();
    byte[] valueBytes = entry.value(streams);
    byte[] old = expected == null ? null : KeyNotation.parse("--expected", expected, expectedHex);
    KvOptions.Builder options = KvOptions.builder().durability(Durability.sync());
    try (KvStore open = absent ? store.openOrCreate(options) : store.openExisting(options)) {
      KeyspaceView view = absent ? keyspace.writerOrNew(open) : keyspace.writer(open);
      if (!view.compareAndSet(keyBytes, old, valueBytes)) {
        String shown = ByteText.show(keyBytes);
        throw CommandFailure.failed(
            absent
                ? "exists already: " + shown
                : view.contains(keyBytes)
                    ? "has another value: " + shown
                    : "no such key: " + shown);
      }
    }
    return Kvsep.DONE;
  }
}
