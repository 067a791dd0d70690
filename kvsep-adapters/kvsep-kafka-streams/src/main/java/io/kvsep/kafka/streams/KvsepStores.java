package io.kvsep.kafka.streams;

import java.time.Duration;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Suppliers of state stores in kvsep, named and used as those of {@link
 * org.apache.kafka.streams.state.Stores}, and the keys by which they are configured. All stores of
 * a Streams instance share one {@link io.kvsep.KvStore}; a store that fails throws {@link
 * org.apache.kafka.streams.errors.ProcessorStateException}.
 *
 * <pre>{@code
 * topology.addStateStore(
 *     Stores.keyValueStoreBuilder(
 *         KvsepStores.persistentKeyValueStore("counts"), Serdes.String(), Serdes.Long()),
 *     "counter");
 * }</pre>
 */
public final class KvsepStores {
  /**
   * Off-heap memory in bytes for all stores of the instance together. Default as in {@link
   * io.kvsep.KvOptions.Builder#memoryBudgetBytes}.
   */
  public static final String MEMORY_BUDGET_BYTES_CONFIG = "kvsep.memory.budget.bytes";

  /**
   * Threads for flushes and compactions. Default as in {@link
   * io.kvsep.KvOptions.Builder#backgroundThreads}.
   */
  public static final String BACKGROUND_THREADS_CONFIG = "kvsep.background.threads";

  /**
   * What a commit survives: {@code none}, the default, the end of the process; {@code async} a
   * power failure, but for the last second; {@code sync} a power failure. What is lost is restored
   * from the changelog.
   */
  public static final String DURABILITY_CONFIG = "kvsep.durability";

  /**
   * A folder in which the instance has its store, in a folder named as the application. Default
   * {@code .kvsep} in the folder of the application in {@code state.dir}. Instances on one machine
   * need different ones.
   */
  public static final String DIRECTORY_CONFIG = "kvsep.directory";

  private KvsepStores() {}

  /**
   * {@return a supplier of key-value stores}
   *
   * @param name name of the store
   */
  public static KeyValueBytesStoreSupplier persistentKeyValueStore(String name) {
    return KeyValueSupplier.of(name, DslStoreFormat.PLAIN);
  }

  /**
   * {@return a supplier of key-value stores with timestamps}
   *
   * @param name name of the store
   */
  public static KeyValueBytesStoreSupplier persistentTimestampedKeyValueStore(String name) {
    return KeyValueSupplier.of(name, DslStoreFormat.TIMESTAMPED);
  }

  /**
   * {@return a supplier of key-value stores with timestamps and headers}
   *
   * @param name name of the store
   */
  public static KeyValueBytesStoreSupplier persistentTimestampedKeyValueStoreWithHeaders(
      String name) {
    return KeyValueSupplier.of(name, DslStoreFormat.HEADERS);
  }

  /**
   * {@return a supplier of versioned key-value stores}
   *
   * @param name name of the store
   * @param historyRetention how long old versions are kept, and how late a record may come
   */
  public static VersionedBytesStoreSupplier persistentVersionedKeyValueStore(
      String name, Duration historyRetention) {
    long retention = WindowSupplier.millis(historyRetention, "historyRetention");
    return new VersionedSupplier(name, retention, Math.max(retention / 12, 2_000));
  }

  /**
   * {@return a supplier of versioned key-value stores}
   *
   * @param name name of the store
   * @param historyRetention how long old versions are kept, and how late a record may come
   * @param segmentInterval how much time of the history is deleted at once
   */
  public static VersionedBytesStoreSupplier persistentVersionedKeyValueStore(
      String name, Duration historyRetention, Duration segmentInterval) {
    return new VersionedSupplier(
        name,
        WindowSupplier.millis(historyRetention, "historyRetention"),
        WindowSupplier.millis(segmentInterval, "segmentInterval"));
  }

  /**
   * {@return a supplier of window stores}
   *
   * @param name name of the store
   * @param retentionPeriod how long windows are kept, at least {@code windowSize}
   * @param windowSize length of the windows
   * @param retainDuplicates whether a second value for a key and window is kept beside the first
   */
  public static WindowBytesStoreSupplier persistentWindowStore(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return window(name, retentionPeriod, windowSize, retainDuplicates, DslStoreFormat.PLAIN);
  }

  /**
   * {@return a supplier of window stores with timestamps}
   *
   * @param name name of the store
   * @param retentionPeriod how long windows are kept, at least {@code windowSize}
   * @param windowSize length of the windows
   * @param retainDuplicates whether a second value for a key and window is kept beside the first
   */
  public static WindowBytesStoreSupplier persistentTimestampedWindowStore(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return window(name, retentionPeriod, windowSize, retainDuplicates, DslStoreFormat.TIMESTAMPED);
  }

  /**
   * {@return a supplier of window stores with timestamps and headers}
   *
   * @param name name of the store
   * @param retentionPeriod how long windows are kept, at least {@code windowSize}
   * @param windowSize length of the windows
   * @param retainDuplicates whether a second value for a key and window is kept beside the first
   */
  public static WindowBytesStoreSupplier persistentTimestampedWindowStoreWithHeaders(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return window(name, retentionPeriod, windowSize, retainDuplicates, DslStoreFormat.HEADERS);
  }

  /**
   * {@return a supplier of session stores}
   *
   * @param name name of the store
   * @param retentionPeriod how long sessions are kept
   */
  public static SessionBytesStoreSupplier persistentSessionStore(
      String name, Duration retentionPeriod) {
    return SessionSupplier.of(
        name, retentionPeriod, /* withHeaders= */ false, /* emitsOnClose= */ false);
  }

  /**
   * {@return a supplier of session stores with headers}
   *
   * @param name name of the store
   * @param retentionPeriod how long sessions are kept
   */
  public static SessionBytesStoreSupplier persistentSessionStoreWithHeaders(
      String name, Duration retentionPeriod) {
    return SessionSupplier.of(
        name, retentionPeriod, /* withHeaders= */ true, /* emitsOnClose= */ false);
  }

  private static WindowBytesStoreSupplier window(
      String name,
      Duration retention,
      Duration windowSize,
      boolean retainDuplicates,
      DslStoreFormat format) {
    return WindowSupplier.of(
        name, retention, windowSize, retainDuplicates, format, WindowSupplier.Emit.UPDATES);
  }
}
