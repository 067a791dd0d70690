package io.kvsep.kafka.streams;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.WriteBufferManager;

/**
 * Compares state stores in kvsep with Kafka's in RocksDB: one process, the same memory, in turns,
 * median of rounds. Not part of the build.
 *
 * <pre>Speed [entries] [value bytes] [rounds]</pre>
 */
final class Speed {
  private static final long MEMORY = 128L << 20;
  private static final int WINDOWS = 60;

  /** Rounds until the JVM has compiled both sides, not counted. */
  private static final int WARM_UP = 2;

  private Speed() {}

  /** One block cache, which memtables are counted in, as the documentation of Kafka advises. */
  public static final class SameMemory implements RocksDBConfigSetter {
    private static final LRUCache CACHE = new LRUCache(MEMORY);
    private static final WriteBufferManager BUFFERS = new WriteBufferManager(MEMORY / 2, CACHE);

    /** Called by Kafka. */
    public SameMemory() {}

    @Override
    public void setConfig(String storeName, Options options, Map<String, Object> configs) {
      BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
      table.setBlockCache(CACHE);
      table.setCacheIndexAndFilterBlocks(true);
      options.setWriteBufferManager(BUFFERS);
      options.setTableFormatConfig(table);
    }

    @Override
    public void close(String storeName, Options options) {}
  }

  private interface Work {
    long run() throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    int entries = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 200_000;
    int valueBytes = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 100;
    int rounds = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 3;
    Map<String, List<double[]>> results = new LinkedHashMap<>();
    for (int round = -WARM_UP; round < rounds; round++) {
      Map<String, Double> kvsep;
      Map<String, Double> rocks;
      if (round % 2 == 0) {
        kvsep = measure(true, entries, valueBytes);
        rocks = measure(false, entries, valueBytes);
      } else {
        rocks = measure(false, entries, valueBytes);
        kvsep = measure(true, entries, valueBytes);
      }
      if (round < 0) {
        continue;
      }
      kvsep.forEach(
          (name, rate) ->
              results
                  .computeIfAbsent(name, key -> new ArrayList<>())
                  .add(new double[] {rate, rocks.get(name)}));
    }
    System.out.printf(
        "%d entries of %d bytes, %d rounds, operations per second%n", entries, valueBytes, rounds);
    System.out.println("| | kvsep | RocksDB | ratio |");
    System.out.println("|---|---:|---:|---:|");
    results.forEach(
        (name, rates) -> {
          double ours = median(rates, 0);
          double theirs = median(rates, 1);
          System.out.printf(
              Locale.ROOT, "| %s | %,.0f | %,.0f | %.2f |%n", name, ours, theirs, ours / theirs);
        });
  }

  private static double median(List<double[]> rates, int column) {
    double[] sorted = rates.stream().mapToDouble(rate -> rate[column]).sorted().toArray();
    return sorted[sorted.length / 2];
  }

  private static Map<String, Double> measure(boolean kvsep, int entries, int valueBytes)
      throws Exception {
    Path folder = Files.createTempDirectory("speed");
    Map<String, Double> rates = new LinkedHashMap<>();
    Random random = new Random(5);
    byte[] value = new byte[valueBytes];
    random.nextBytes(value);
    int[] order = random.ints(entries, 0, entries).toArray();
    long[] checksum = new long[1];

    KeyValueStore<Bytes, byte[]> store =
        kvsep
            ? KvsepStores.persistentKeyValueStore("s").get()
            : Stores.persistentKeyValueStore("s").get();
    open(store, folder);
    rate(
        rates,
        "load",
        () -> {
          for (int i : order) {
            store.put(key(i), value);
          }
          for (int i = 0; i < entries; i++) {
            store.put(key(i), value);
          }
          return 2L * entries;
        });
    commit(store);
    rate(
        rates,
        "get",
        () -> {
          for (int i : order) {
            checksum[0] += store.get(key(i)).length;
          }
          return entries;
        });
    rate(
        rates,
        "get of an absent key",
        () -> {
          for (int i : order) {
            checksum[0] += store.get(key(entries + i)) == null ? 1 : 0;
          }
          return entries;
        });
    rate(
        rates,
        "read-modify-write",
        () -> {
          for (int i : order) {
            byte[] changed = store.get(key(i)).clone();
            changed[0]++;
            store.put(key(i), changed);
          }
          return entries;
        });
    rate(
        rates,
        "all(), per entry",
        () -> {
          long count = 0;
          for (int pass = 0; pass < 3; pass++) {
            try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
              while (all.hasNext()) {
                checksum[0] += all.next().value.length;
                count++;
              }
            }
          }
          return count;
        });
    rate(
        rates,
        "range of 20, per range",
        () -> {
          for (int i = 0; i < entries / 20; i++) {
            try (KeyValueIterator<Bytes, byte[]> range =
                store.range(key(order[i]), key(order[i] + 19))) {
              while (range.hasNext()) {
                checksum[0] += range.next().value.length;
              }
            }
          }
          return entries / 20;
        });
    store.close();

    KeyValueStore<Bytes, byte[]> restored =
        kvsep
            ? KvsepStores.persistentKeyValueStore("r").get()
            : Stores.persistentKeyValueStore("r").get();
    InternalMockProcessorContext<?, ?> restoring = open(restored, folder);
    rate(
        rates,
        "restore, per record",
        () -> {
          for (int i = 0; i < entries; i += 1_000) {
            List<KeyValue<byte[], byte[]>> batch = new ArrayList<>();
            for (int j = i; j < Math.min(entries, i + 1_000); j++) {
              batch.add(KeyValue.pair(key(order[j]).get(), value));
            }
            restoring.restore("r", batch);
          }
          return entries;
        });
    restored.close();

    Duration retention = Duration.ofMinutes(WINDOWS);
    Duration size = Duration.ofMinutes(1);
    WindowStore<Bytes, byte[]> windows =
        kvsep
            ? KvsepStores.persistentWindowStore("w", retention, size, false).get()
            : Stores.persistentWindowStore("w", retention, size, false).get();
    open(windows, folder);
    int keys = entries / WINDOWS;
    rate(
        rates,
        "window put",
        () -> {
          for (int minute = 0; minute < 2 * WINDOWS; minute++) {
            for (int i = 0; i < keys; i++) {
              windows.put(key(i), value, minute * 60_000L);
            }
          }
          return 2L * WINDOWS * keys;
        });
    long end = (2 * WINDOWS - 1) * 60_000L;
    rate(
        rates,
        "window fetch of one",
        () -> {
          for (int i : order) {
            checksum[0] += windows.fetch(key(i % keys), end - i % 30 * 60_000L).length;
          }
          return entries;
        });
    rate(
        rates,
        "window fetch of 10 minutes",
        () -> {
          for (int i = 0; i < entries / 10; i++) {
            long from = end - order[i] % 45 * 60_000L;
            try (WindowStoreIterator<byte[]> fetched =
                windows.fetch(key(order[i] % keys), from - 9 * 60_000L, from)) {
              while (fetched.hasNext()) {
                checksum[0] += fetched.next().value.length;
              }
            }
          }
          return entries / 10;
        });
    windows.close();
    Folders.delete(folder);
    if (checksum[0] == 42) {
      System.out.println(Arrays.toString(checksum));
    }
    return rates;
  }

  private static InternalMockProcessorContext<?, ?> open(StateStore store, Path folder)
      throws Exception {
    InternalMockProcessorContext<?, ?> context =
        Contexts.in(
            folder,
            Map.of(
                KvsepStores.MEMORY_BUDGET_BYTES_CONFIG,
                MEMORY,
                StreamsConfig.METRICS_RECORDING_LEVEL_CONFIG,
                "INFO",
                StreamsConfig.ROCKSDB_CONFIG_SETTER_CLASS_CONFIG,
                SameMemory.class));
    store.init((StateStoreContext) context, store);
    return context;
  }

  private static void commit(StateStore store) {
    store.commit(Map.of(new TopicPartition("changelog", 0), 1L));
  }

  private static void rate(Map<String, Double> rates, String name, Work work) throws Exception {
    long started = System.nanoTime();
    long count = work.run();
    rates.put(name, count * 1e9 / (System.nanoTime() - started));
  }

  private static Bytes key(int number) {
    byte[] key = new byte[16];
    Arrays.fill(key, (byte) '0');
    for (int i = 15, rest = number; rest > 0; i--, rest /= 10) {
      key[i] = (byte) ('0' + rest % 10);
    }
    return Bytes.wrap(key);
  }
}
