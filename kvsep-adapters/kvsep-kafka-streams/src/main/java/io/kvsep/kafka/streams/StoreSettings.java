package io.kvsep.kafka.streams;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.jspecify.annotations.Nullable;

/**
 * What the configuration of a Streams instance says about its store.
 *
 * @param directory of the store
 * @param stateDirectory under which the directories of its tasks are
 * @param options of the store
 * @param commitDurability of the batch that ends a commit
 * @param exactlyOnce whether state that may have uncommitted data must not be used
 * @param transactional whether nothing may be written before it is committed
 */
record StoreSettings(
    Path directory,
    Path stateDirectory,
    KvOptions options,
    Durability commitDurability,
    boolean exactlyOnce,
    boolean transactional) {
  private static final String DIRECTORY_NAME = ".kvsep";
  static final String TRANSACTIONAL_CONFIG = "enable.transactional.statestores";

  /** Kafka 4.3 has no such stores: it commits seldom, and writes would pile up. */
  static final boolean HAS_TRANSACTIONS = hasTransactions();

  static StoreSettings of(StateStoreContext context) {
    Map<String, Object> configs = context.appConfigs();
    Path stateDirectory = stateDirectory(context, configs);
    Object folder = configs.get(KvsepStores.DIRECTORY_CONFIG);
    Path directory =
        folder == null
            ? stateDirectory.resolve(DIRECTORY_NAME)
            : Path.of(folder.toString(), context.applicationId());
    KvOptions.Builder options = KvOptions.builder();
    Long budget = number(configs, KvsepStores.MEMORY_BUDGET_BYTES_CONFIG);
    if (budget != null) {
      options.memoryBudgetBytes(budget);
    }
    Long threads = number(configs, KvsepStores.BACKGROUND_THREADS_CONFIG);
    if (threads != null) {
      options.backgroundThreads((int) Math.min(threads, Integer.MAX_VALUE));
    }
    Object durability = configs.get(KvsepStores.DURABILITY_CONFIG);
    String name = durability == null ? "none" : durability.toString();
    Durability commits =
        switch (name) {
          case "none" -> Durability.none();
          case "async" -> Durability.async(Duration.ofSeconds(1));
          case "sync" -> Durability.sync();
          default ->
              throw new ConfigException(
                  KvsepStores.DURABILITY_CONFIG, name, "must be none, async or sync");
        };
    // A commit syncs everything before it, so no other write needs a sync of its own.
    options.durability(name.equals("sync") ? Durability.none() : commits);
    boolean exactlyOnce =
        StreamsConfig.EXACTLY_ONCE_V2.equals(
            configs.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
    try {
      return new StoreSettings(
          directory.toAbsolutePath().normalize(),
          stateDirectory,
          options.build(),
          commits,
          exactlyOnce,
          HAS_TRANSACTIONS && "true".equals(String.valueOf(configs.get(TRANSACTIONAL_CONFIG))));
    } catch (IllegalArgumentException e) {
      throw new ConfigException("kvsep: " + e.getMessage());
    }
  }

  /** {@code state.dir/application.id}, or the directory of the task if that lies elsewhere. */
  private static Path stateDirectory(StateStoreContext context, Map<String, Object> configs) {
    Path task = context.stateDir().toPath().toAbsolutePath().normalize();
    Object root = configs.get(StreamsConfig.STATE_DIR_CONFIG);
    if (root != null) {
      Path application =
          new File(root.toString(), context.applicationId()).toPath().toAbsolutePath().normalize();
      if (task.startsWith(application)) {
        return application;
      }
    }
    return task;
  }

  private static boolean hasTransactions() {
    try {
      StateStore.class.getMethod("approximateNumUncommittedBytes");
      return true;
    } catch (NoSuchMethodException e) {
      return false;
    }
  }

  private static @Nullable Long number(Map<String, Object> configs, String key) {
    Object value = configs.get(key);
    if (value == null) {
      return null;
    }
    try {
      return Long.valueOf(value.toString().trim());
    } catch (NumberFormatException e) {
      throw new ConfigException(key, value, "must be a number");
    }
  }
}
