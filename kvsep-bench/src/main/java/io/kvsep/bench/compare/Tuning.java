package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Options of engines that differ from their defaults, as {@code name=value,...}. A name begins with
 * that of its engine. Immutable.
 */
final class Tuning {
  /** All known names. */
  private static final Set<String> NAMES =
      Set.of(
          "kvsep.compression",
          "kvsep.verify_values",
          "lmdb.checks",
          "lmdb.read_ahead",
          "lmdb.write_map",
          "mvstore.page",
          "mvstore.retention",
          "rocksdb.blob_from",
          "rocksdb.blob_gc",
          "rocksdb.block",
          "rocksdb.bloom",
          "rocksdb.bytes_per_sync",
          "rocksdb.clock_cache",
          "rocksdb.compression",
          "rocksdb.jobs",
          "rocksdb.memtable_mib",
          "rocksdb.memtables",
          "rocksdb.mmap",
          "rocksdb.pin_l0",
          "xodus.cache_shared",
          "xodus.jmx",
          "xodus.prefixing",
          "badger.block_cache_mib",
          "badger.compact_on_close",
          "badger.compression",
          "badger.detect_conflicts",
          "badger.metrics",
          "badger.prefetch",
          "badger.procs",
          "badger.value_threshold",
          "badger.vlog_mib",
          "bbolt.batch",
          "bbolt.batch_delay_us",
          "bbolt.freelist_map",
          "bbolt.freelist_sync",
          "bbolt.mmap_gib",
          "bbolt.statistics");

  private final Map<String, String> values;

  private Tuning(Map<String, String> values) {
    this.values = values;
  }

  static Tuning parse(@Nullable String words) {
    Map<String, String> values = new TreeMap<>();
    if (words != null && !words.isEmpty()) {
      for (String word : words.split(",", -1)) {
        int equals = word.indexOf('=');
        if (equals < 1) {
          throw new UsageException("--tune takes name=value,name=value: " + words);
        }
        String name = word.substring(0, equals);
        if (!NAMES.contains(name)) {
          throw new UsageException("--tune must be of " + new TreeSet<>(NAMES) + ": " + name);
        }
        values.put(name, word.substring(equals + 1));
      }
    }
    return new Tuning(values);
  }

  /** These options, replaced and completed by those of {@code other} that are for an engine. */
  Tuning with(Tuning other, String engine) {
    Map<String, String> all = new TreeMap<>(values);
    other.values.forEach(
        (name, value) -> {
          if (engine.startsWith(name.substring(0, name.indexOf('.')))) {
            all.put(name, value);
          }
        });
    return new Tuning(all);
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  /** Passes the value to {@code option} if it has one. */
  void number(String name, LongConsumer option) {
    text(name, value -> option.accept(Long.parseLong(value)));
  }

  void flag(String name, Consumer<Boolean> option) {
    text(name, value -> option.accept(Boolean.parseBoolean(value)));
  }

  void text(String name, Consumer<String> option) {
    String value = value(name);
    if (value != null) {
      option.accept(value);
    }
  }

  boolean flag(String name, boolean missing) {
    String value = value(name);
    return value == null ? missing : Boolean.parseBoolean(value);
  }

  private @Nullable String value(String name) {
    if (!NAMES.contains(name)) {
      throw new IllegalArgumentException("not in the list: " + name);
    }
    return values.get(name);
  }

  @Override
  public String toString() {
    StringBuilder words = new StringBuilder();
    values.forEach((name, value) -> words.append(',').append(name).append('=').append(value));
    return words.isEmpty() ? "" : words.substring(1);
  }
}
