package io.kvsep.bench.compare;

import io.kvsep.bench.Arguments;
import io.kvsep.bench.Dataset;
import io.kvsep.bench.UsageException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Options of {@code kvsep bench compare}. */
record CompareOptions(
    List<String> engines,
    List<DataSet> sets,
    int rounds,
    List<String> workloads,
    List<Rest> rests,
    long cacheMebibytes,
    SyncMode durability,
    int threads,
    int seconds,
    long gets,
    long scanMax,
    long seed,
    Tuning tuning,
    @Nullable Path csv,
    @Nullable Path charts,
    @Nullable Path directory,
    Path goDirectory) {

  /**
   * @param name as in the CSV file
   * @param valueBytes as in the child's option
   * @param memoryLimitBytes what a child may use, file cache included; 0 without a limit
   */
  record DataSet(String name, long entries, String valueBytes, long memoryLimitBytes) {
    DataSet(String name, long entries, String valueBytes) {
      this(name, entries, valueBytes, 0);
    }

    private DataSet in(String limit) {
      long bytes =
          limit.endsWith("%")
              ? rawBytes() / 100 * number(limit.substring(0, limit.length() - 1), limit)
              : bytes(limit);
      if (bytes < MemoryGroup.BYTES_MIN) {
        throw new UsageException("--memory-limit must be at least 64M, with values of " + name);
      }
      return new DataSet(name + "-in-" + limit, entries, valueBytes, bytes);
    }

    /** Whether the data fits well. */
    boolean isInMemory() {
      long machine = ProcessStatus.memoryBytes();
      return 2 * rawBytes() < (isLimited() ? Math.min(machine, memoryLimitBytes) : machine);
    }

    boolean isLimited() {
      return memoryLimitBytes > 0;
    }

    /** At most a quarter of the limit, as kvsep has it by default. */
    long cacheMebibytes(long most) {
      return isLimited() ? Math.min(most, memoryLimitBytes >> 22) : most;
    }

    private long rawBytes() {
      return Entries.of(entries, valueBytes).rawBytes();
    }
  }

  static CompareOptions parse(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    double scale = scale(arguments.text("scale"));
    List<String> all = Engines.rows();
    List<String> engines = list(arguments.text("engines"), Engines.usualRows());
    for (String engine : engines) {
      if (!all.contains(engine)) {
        throw new UsageException("--engines must be of " + String.join(", ", all) + ": " + engine);
      }
    }
    requireDistinct("engines", engines);
    List<DataSet> sets = new ArrayList<>();
    String limit = arguments.text("memory-limit");
    for (String word :
        list(arguments.text("sets"), List.of("128", "1024", "16384", "alternating"))) {
      DataSet set = dataSet(word, scale);
      sets.add(limit == null ? set : set.in(limit));
    }
    requireDistinct("sets", sets.stream().map(DataSet::name).toList());
    List<String> workloads = new ArrayList<>();
    for (String word : list(arguments.text("workloads"), Workload.USUAL)) {
      workloads.addAll(word.equals("ycsb") ? Mix.ycsb() : List.of(word));
    }
    Sequence.requireKnown(workloads);
    CompareOptions options =
        new CompareOptions(
            engines,
            sets,
            arguments.count("rounds", 3, 1, 1000),
            workloads,
            Rest.parse(Objects.requireNonNullElse(arguments.text("rest"), "none,settled")),
            arguments.number("cache-mib", 256, 16, 1 << 20),
            SyncMode.of(arguments.choice("durability", "none", "async", "sync")),
            arguments.count("threads", 2, 1, 1024),
            arguments.count("seconds", 5, 1, 3600),
            arguments.number("gets", 2_000_000, 1, Long.MAX_VALUE),
            arguments.number("scan-max", 2_000_000, 1, Long.MAX_VALUE),
            arguments.number("seed", 1, 0, Long.MAX_VALUE),
            Tuning.parse(arguments.text("tune")),
            path(arguments.text("csv")),
            path(arguments.text("charts")),
            path(arguments.text("dir")),
            goDirectory(arguments.text("go-dir")));
    arguments.requireAllUsed();
    return options;
  }

  /** Figures of the same name would be merged into one median. */
  private static void requireDistinct(String option, List<String> names) {
    Set<String> seen = new HashSet<>();
    for (String name : names) {
      if (!seen.add(name)) {
        throw new UsageException("--" + option + " has " + name + " twice");
      }
    }
  }

  private static DataSet dataSet(String word, double scale) {
    int colon = word.indexOf(':');
    if (colon > 0) {
      String length = word.substring(0, colon);
      return new DataSet(length, number(word.substring(colon + 1), word), length);
    }
    return switch (word) {
      case "128" -> new DataSet(word, scaled(3_000_000, scale), word);
      case "1024" -> new DataSet(word, scaled(1_000_000, scale), word);
      case "16384" -> new DataSet(word, scaled(80_000, scale), word);
      case "alternating" -> new DataSet(word, scaled(300, scale), "64000/2932000");
      default ->
          throw new UsageException(
              "--sets must be of 128, 1024, 16384, alternating, LENGTH:ENTRIES: " + word);
    };
  }

  private static long scaled(long entries, double scale) {
    return Math.max(1, Math.min(Dataset.ENTRIES_MAX, Math.round(entries * scale)));
  }

  private static double scale(@Nullable String word) {
    try {
      double scale = word == null ? 1 : Double.parseDouble(word);
      if (scale > 0 && scale <= 1000) {
        return scale;
      }
    } catch (NumberFormatException e) {
      throw new UsageException("--scale must be a number: " + word);
    }
    throw new UsageException("--scale must be above 0, up to 1000: " + word);
  }

  /** A positive number with an optional suffix K, M or G of 1,024. */
  private static long bytes(String word) {
    String upper = word.toUpperCase(Locale.ROOT);
    int shift = upper.isEmpty() ? 0 : 10 * (1 + "KMG".indexOf(upper.charAt(upper.length() - 1)));
    return number(shift == 0 ? upper : upper.substring(0, upper.length() - 1), word) << shift;
  }

  private static long number(String digits, String word) {
    try {
      long number = Long.parseLong(digits.replace("_", ""));
      if (number > 0 && number < 1L << 33) {
        return number;
      }
    } catch (NumberFormatException e) {
      throw new UsageException("not a number: " + word);
    }
    throw new UsageException("out of range: " + word);
  }

  private static List<String> list(@Nullable String words, List<String> missing) {
    return words == null ? missing : List.of(words.split(",", -1));
  }

  private static @Nullable Path path(@Nullable String word) {
    return word == null ? null : Path.of(word);
  }

  private static Path goDirectory(@Nullable String word) {
    return word == null
        ? Path.of(System.getProperty("kvsep.home", ""), "kvsep-bench", "go")
        : Path.of(word);
  }
}
