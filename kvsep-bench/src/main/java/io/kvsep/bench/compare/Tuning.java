package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Settings of engines that differ from docs/internals/bench-protocol.md, as {@code name=value,...},
 * to find the faster of an engine's alternatives. Immutable.
 */
final class Tuning {
  /** All known names. */
  private static final Set<String> NAMES =
      Set.of(
          "kvsep.compression",
          "kvsep.get",
          "lmdb.readahead",
          "mvstore.page",
          "mvstore.retention",
          "rocksdb.block",
          "rocksdb.buffer_mib",
          "rocksdb.buffers",
          "rocksdb.cache",
          "rocksdb.cacheindex",
          "rocksdb.fillcache",
          "rocksdb.get",
          "rocksdb.jobs",
          "rocksdb.mmap",
          "rocksdb.readahead",
          "rocksdb.write",
          "xodus.tree");

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

  boolean isEmpty() {
    return values.isEmpty();
  }

  private @Nullable String value(String name) {
    if (!NAMES.contains(name)) {
      throw new IllegalArgumentException("not in the list: " + name);
    }
    return values.get(name);
  }

  long number(String name, long missing) {
    String value = value(name);
    return value == null ? missing : Long.parseLong(value);
  }

  boolean flag(String name, boolean missing) {
    String value = value(name);
    return value == null ? missing : Boolean.parseBoolean(value);
  }

  String text(String name, String missing) {
    String value = value(name);
    return value == null ? missing : value;
  }

  @Override
  public String toString() {
    StringBuilder words = new StringBuilder();
    values.forEach((name, value) -> words.append(',').append(name).append('=').append(value));
    return words.isEmpty() ? "" : words.substring(1);
  }
}
