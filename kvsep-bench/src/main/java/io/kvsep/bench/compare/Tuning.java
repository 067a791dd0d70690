package io.kvsep.bench.compare;

import io.kvsep.bench.UsageException;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Settings of engines that differ from those of docs/benchmarks.md, as {@code name=value,...}, to
 * find out which of an engine's alternatives is the faster one. Immutable.
 */
final class Tuning {
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
        values.put(word.substring(0, equals), word.substring(equals + 1));
      }
    }
    return new Tuning(values);
  }

  boolean isEmpty() {
    return values.isEmpty();
  }

  long number(String name, long missing) {
    String value = values.get(name);
    return value == null ? missing : Long.parseLong(value);
  }

  boolean flag(String name, boolean missing) {
    String value = values.get(name);
    return value == null ? missing : Boolean.parseBoolean(value);
  }

  String text(String name, String missing) {
    return values.getOrDefault(name, missing);
  }

  @Override
  public String toString() {
    StringBuilder words = new StringBuilder();
    values.forEach((name, value) -> words.append(',').append(name).append('=').append(value));
    return words.isEmpty() ? "" : words.substring(1);
  }
}
