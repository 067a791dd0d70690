package io.kvsep.server.cli;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.KvWriter;
import java.util.Arrays;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Deletes one key or a range of keys; durable on success. */
@Command(
    name = "delete",
    description = "Remove KEY, or all keys of a range. Removing what is not there is no error.",
    footer = {"", "Write -- before a KEY that begins with a dash."})
final class DeleteCommand implements Callable<Integer> {
  @Mixin private final StoreOptions store = new StoreOptions();
  @Mixin private final KeyspaceOption keyspace = new KeyspaceOption();

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "KEY",
      description = "The key, as UTF-8 text.")
  private @Nullable String key;

  @Option(names = "--prefix", paramLabel = "P", description = "All keys that begin with P.")
  private @Nullable String prefix;

  @Option(names = "--from", paramLabel = "K", description = "All keys from K on; needs --to.")
  private @Nullable String from;

  @Option(names = "--to", paramLabel = "K", description = "All keys before K; needs --from.")
  private @Nullable String to;

  @Option(names = "--all", description = "All keys of the store or keyspace.")
  private boolean all;

  @Option(names = "--key-hex", description = "KEY, P and K are hexadecimal digits.")
  private boolean keyHex;

  @Override
  public Integer call() {
    boolean bounds = from != null || to != null;
    if ((key != null ? 1 : 0) + (prefix != null ? 1 : 0) + (bounds ? 1 : 0) + (all ? 1 : 0) != 1
        || (bounds && (from == null || to == null))) {
      throw CommandFailure.misused("give KEY, --prefix, --from and --to, or --all");
    }
    // As from a shell's variable that is not set.
    if (prefix != null && prefix.isEmpty()) {
      throw CommandFailure.misused("--prefix is empty; --all deletes all keys");
    }
    byte[] first = parsed("KEY", key);
    byte[] start = parsed("--prefix", prefix);
    byte[] lower = parsed("--from", from);
    byte[] upper = parsed("--to", to);
    try (KvStore open = store.openExisting(KvOptions.builder().durability(Durability.sync()))) {
      KvWriter writer = keyspace.writer(open);
      if (first != null) {
        writer.delete(first);
      } else if (start != null) {
        deletePrefix(writer, start);
      } else if (lower != null && upper != null) {
        writer.deleteRange(lower, upper);
      } else {
        deletePrefix(writer, new byte[0]);
      }
    }
    return Kvsep.DONE;
  }

  private static void deletePrefix(KvWriter writer, byte[] prefix) {
    byte[] after = RangeOptions.firstKeyAfter(prefix);
    if (after != null) {
      writer.deleteRange(prefix, after);
      return;
    }
    // The longest possible key; a range end one byte longer would be no valid key.
    byte[] last = new byte[EntryFile.KEY_BYTES_MAX];
    Arrays.fill(last, (byte) 0xff);
    writer.deleteRange(prefix, last);
    writer.delete(last);
  }

  private byte @Nullable [] parsed(String name, @Nullable String text) {
    return text == null ? null : KeyNotation.parse(name, text, keyHex);
  }
}
