package io.kvsep.bench.compare;

import io.kvsep.bench.Arguments;
import io.kvsep.bench.Dataset;
import io.kvsep.bench.UsageException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/** Options of a child; see docs/internals/bench-protocol.md. */
record ChildOptions(
    String engine,
    Path directory,
    long entryCount,
    String valueBytes,
    int batch,
    long cacheBytes,
    SyncMode durability,
    long scanMax,
    long gets,
    long misses,
    int threads,
    Duration time,
    long seed,
    List<String> workloads,
    List<Rest> rests,
    Tuning tuning) {

  static ChildOptions parse(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    ChildOptions options =
        new ChildOptions(
            needed(arguments, "engine"),
            Path.of(needed(arguments, "dir")),
            arguments.number("entries", 1000, 1, Dataset.ENTRIES_MAX),
            needed(arguments, "value-bytes"),
            arguments.count("batch", 1000, 1, 1_000_000),
            arguments.number("cache-mib", 256, 16, 1 << 20) << 20,
            SyncMode.of(arguments.choice("durability", "none", "async", "sync")),
            arguments.number("scan-max", 2_000_000, 1, Long.MAX_VALUE),
            arguments.number("gets", 1_000_000, 1, Long.MAX_VALUE),
            arguments.number("misses", 1_000_000, 1, Long.MAX_VALUE),
            arguments.count("threads", 2, 1, 1024),
            arguments.seconds("seconds", 5, 86_400),
            arguments.number("seed", 1, Long.MIN_VALUE, Long.MAX_VALUE),
            List.of(needed(arguments, "workloads").split(",", -1)),
            Rest.parse(needed(arguments, "rest")),
            Tuning.parse(arguments.text("tune")));
    arguments.requireAllUsed();
    return options;
  }

  private static String needed(Arguments arguments, String name) {
    String value = arguments.text(name);
    if (value == null) {
      throw new UsageException("--" + name + " is needed");
    }
    return value;
  }

  List<String> words() {
    List<String> words = new ArrayList<>();
    add(words, "engine", engine);
    add(words, "dir", directory);
    add(words, "entries", entryCount);
    add(words, "value-bytes", valueBytes);
    add(words, "batch", batch);
    add(words, "cache-mib", cacheBytes >> 20);
    add(words, "durability", durability.word);
    add(words, "scan-max", scanMax);
    add(words, "gets", gets);
    add(words, "misses", misses);
    add(words, "threads", threads);
    add(
        words,
        "seconds",
        BigDecimal.valueOf(time.toMillis(), 3).stripTrailingZeros().toPlainString());
    add(words, "seed", seed);
    add(words, "workloads", String.join(",", workloads));
    add(words, "rest", Rest.words(rests));
    if (!tuning.isEmpty()) {
      add(words, "tune", tuning);
    }
    return words;
  }

  private static void add(List<String> words, String name, Object value) {
    words.add("--" + name);
    words.add(value.toString());
  }

  Entries entries() {
    return Entries.of(entryCount, valueBytes);
  }

  boolean does(String workload) {
    return workloads.contains(workload);
  }

  /**
   * Random numbers of one thread. They differ between workloads, between a warm-up and its
   * workload, and between rounds: otherwise reads would find what was just read.
   */
  SplittableRandom random(String workload, boolean warming, int thread) {
    long stream = 2L * Workload.number(workload) + (warming ? 1 : 0);
    return new SplittableRandom((seed << 16) + (stream << 10) + thread);
  }
}
