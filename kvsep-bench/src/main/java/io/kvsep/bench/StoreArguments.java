package io.kvsep.bench;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.ValueCompression;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options that every command has for its store.
 *
 * @param withoutReclaim the same options with so much garbage allowed that nothing is reclaimed
 */
record StoreArguments(
    @Nullable Path directory, int valueBytes, KvOptions options, KvOptions withoutReclaim) {
  /** For commands that create their store. */
  static StoreArguments forNew(Arguments arguments, String defaultDurability) {
    return read(arguments, defaultDurability, KvOptions.builder());
  }

  /** For commands that read a store filled by {@code load}. */
  static StoreArguments forExisting(Arguments arguments) {
    return read(arguments, "none", KvOptions.builder().createIfMissing(false));
  }

  /** For commands that only read a store, whatever its content. */
  static StoreArguments forReading(Arguments arguments) {
    return read(arguments, "none", KvOptions.builder().readOnly(true));
  }

  private static StoreArguments read(
      Arguments arguments, String defaultDurability, KvOptions.Builder builder) {
    String directory = arguments.text("dir");
    int valueBytes = arguments.count("value-bytes", 128, 8, Dataset.VALUE_BYTES_MAX);
    KvOptions defaults = KvOptions.defaults();
    long budgetMebibytes = defaults.memoryBudgetBytes() >> 20;
    builder
        .durability(durability(arguments, defaultDurability))
        .memoryBudgetBytes(
            arguments.number("memory-budget-mib", budgetMebibytes, 16, 1 << 20) << 20)
        .spaceAmplificationMax(
            arguments.number("space-amplification-max-percent", 150, 105, 10_000) / 100.0)
        .keyBlockCompression(
            arguments.choice("key-block-compression", "none", "lz4").equals("lz4")
                ? ValueCompression.LZ4
                : ValueCompression.NONE)
        .valueCompression(
            arguments.choice("compression", "lz4", "none").equals("lz4")
                ? ValueCompression.LZ4
                : ValueCompression.NONE)
        .verifyValues(arguments.choice("verify-values", "yes", "no").equals("yes"));
    int inlineBytesMax = arguments.count("inline-value-bytes-max", -1, 0, 1 << 16);
    if (inlineBytesMax >= 0) {
      // Without it a store that outgrows memory keeps fewer values inline.
      builder.inlineValueBytesMax(inlineBytesMax);
    }
    KvOptions options = builder.build();
    return new StoreArguments(
        directory == null ? null : Path.of(directory),
        valueBytes,
        options,
        builder.spaceAmplificationMax(100).build());
  }

  /** The directory of a store that must exist. */
  Path existing() {
    if (directory == null) {
      throw new UsageException("--dir is needed: a store that is there");
    }
    return directory;
  }

  /** Runs {@code work} with a directory for a store; a temporary one is removed afterwards. */
  void runInNew(Consumer<Path> work) {
    if (directory != null) {
      work.accept(directory);
      return;
    }
    Path temporary = Directories.temporary();
    try (Cleanup removal = Cleanup.of(() -> Directories.remove(temporary))) {
      work.accept(temporary);
    }
  }

  private static Durability durability(Arguments arguments, String missing) {
    String name = arguments.text("durability");
    return switch (name == null ? missing : name) {
      case "none" -> Durability.none();
      case "async" -> Durability.async(Duration.ofSeconds(1));
      case "sync" -> Durability.sync();
      default -> throw new UsageException("--durability must be one of none, async, sync: " + name);
    };
  }
}
