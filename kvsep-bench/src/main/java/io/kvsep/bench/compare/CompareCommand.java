package io.kvsep.bench.compare;

import io.kvsep.bench.Cleanup;
import io.kvsep.bench.Directories;
import io.kvsep.bench.FailedMeasurementException;
import io.kvsep.bench.Progress;
import io.kvsep.bench.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * {@code kvsep bench compare}: runs every engine in its own process, alternately. Prints figures as
 * a table to standard output, and progress to standard error.
 */
public final class CompareCommand {
  private static final String UNSAFE = "sun.misc.unsafe.memory.access";
  private static final Duration SILENCE_MAX = Duration.ofMinutes(10);
  private static final long HEAP_MEBIBYTES = 512;

  private final CompareOptions options;
  private final List<ResultRow> rows = new ArrayList<>();
  private final Map<String, ChildLine.About> engines = new LinkedHashMap<>();
  private final List<String> failures = new ArrayList<>();
  private final @Nullable Path goProgram;

  private CompareCommand(CompareOptions options, @Nullable Path goProgram) {
    this.options = options;
    this.goProgram = goProgram;
  }

  public static void run(List<String> words) {
    CompareOptions options = CompareOptions.parse(words);
    requireWritable(options.csv(), options.charts());
    Path parent = options.directory();
    Path directory = parent == null ? Directories.temporary() : Directories.temporary(parent);
    try (Cleanup removal = Cleanup.of(() -> Directories.remove(directory))) {
      Path program =
          options.engines().stream().anyMatch(Engines::isGo)
              ? GoProgram.build(options.goDirectory(), directory)
              : null;
      new CompareCommand(options, program).run(directory);
    }
  }

  /** Checked before hours of work whose results go there. */
  private static void requireWritable(@Nullable Path csv, @Nullable Path charts) {
    try {
      if (csv != null) {
        Files.newOutputStream(csv, StandardOpenOption.CREATE, StandardOpenOption.APPEND).close();
      }
      if (charts != null) {
        Files.createDirectories(charts);
      }
    } catch (IOException e) {
      throw new UsageException("figures cannot be written there: " + e);
    }
  }

  private void run(Path directory) {
    List<String> running = new ArrayList<>(options.engines());
    if (goProgram == null) {
      running.removeIf(Engines::isGo);
    }
    for (int round = 1; round <= options.rounds(); round++) {
      for (CompareOptions.DataSet set : options.sets()) {
        for (String engine : running) {
          child(round, set, engine, directory);
          // Updated after each engine, so that an interruption loses little.
          if (options.csv() != null) {
            ResultCsv.write(options.csv(), rows);
          }
        }
      }
      Collections.rotate(running, -1);
    }
    if (rows.isEmpty()) {
      throw new UsageException("there is no engine to run");
    }
    List<String> columns = new ArrayList<>(options.engines());
    columns.retainAll(running);
    System.out.print(new ResultTable(rows, columns, options.durability()).text());
    engines.forEach(
        (name, about) ->
            System.out.printf(
                Locale.ROOT, "%-19s %s  %s%n", name, about.version(), about.settings()));
    failures.forEach(System.out::println);
    if (options.charts() != null) {
      Path csv = options.csv() == null ? directory.resolve("figures.csv") : options.csv();
      ResultCsv.write(csv, rows);
      Charts.write(csv, options.charts()).forEach(System.out::println);
    }
    if (failures.stream().anyMatch(failure -> failure.startsWith("kvsep "))) {
      throw new FailedMeasurementException("kvsep itself failed");
    }
  }

  private void child(int round, CompareOptions.DataSet set, String engine, Path directory) {
    Path store = directory.resolve("store");
    String label =
        String.format(Locale.ROOT, "%d/%d %s %s", round, options.rounds(), set.name(), engine);
    long start = System.nanoTime();
    ChildLine.Failed failed = null;
    try (Bar bar = new Bar(label)) {
      for (List<String> workloads : processes(options.workloads())) {
        if (failed == null) {
          List<String> command = command(round, set, engine, store, workloads);
          failed = keep(round, set, engine, run(set, command, bar));
          DiskSpace.writeOut(directory);
        }
      }
    } finally {
      if (Files.exists(store)) {
        Directories.remove(store);
        DiskSpace.writeOut(directory);
      }
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    if (failed == null) {
      System.err.printf(Locale.ROOT, "%-32s %7.1f s%n", label, seconds);
    } else {
      System.err.printf(Locale.ROOT, "%-32s %7.1f s FAILED, %s%n", label, seconds, failed.reason());
    }
  }

  /** The workloads by process: those of a cold start have one of their own. */
  static List<List<String>> processes(List<String> workloads) {
    List<String> warm = new ArrayList<>(workloads);
    if (!warm.remove(Workload.COLD)) {
      return List.of(warm);
    }
    return List.of(warm.isEmpty() ? List.of("load") : warm, List.of(Workload.COLD));
  }

  /** Keeps the figures of a child; returns its failure. */
  private ChildLine.@Nullable Failed keep(
      int round, CompareOptions.DataSet set, String engine, ChildProcess.Outcome outcome) {
    if (outcome.about() != null) {
      engines.put(engine, outcome.about());
    }
    for (ChildLine.Result result : outcome.results()) {
      rows.add(
          new ResultRow(
              round,
              set.name(),
              engine,
              result.workload(),
              result.metric(),
              result.value(),
              result.unit()));
    }
    ChildLine.Failed failed = outcome.failed();
    if (failed == null) {
      return null;
    }
    rows.add(new ResultRow(round, set.name(), engine, failed.workload(), ResultRow.FAILED, 1, "x"));
    failures.add(
        engine
            + " failed in round "
            + round
            + " of "
            + set.name()
            + ", "
            + failed.workload()
            + ": "
            + failed.reason());
    outcome.errors().forEach(line -> System.err.println(engine + ": " + line));
    return failed;
  }

  private static ChildProcess.Outcome run(
      CompareOptions.DataSet set, List<String> command, Bar bar) {
    if (!set.isLimited()) {
      return ChildProcess.run(command, SILENCE_MAX, bar::update);
    }
    try (MemoryGroup group = MemoryGroup.of(set.memoryLimitBytes())) {
      List<String> limited = new ArrayList<>(group.prefix());
      limited.addAll(command);
      return ChildProcess.run(limited, SILENCE_MAX, bar::update);
    }
  }

  private List<String> command(
      int round, CompareOptions.DataSet set, String engine, Path store, List<String> workloads) {
    List<String> command = new ArrayList<>();
    long cacheMebibytes = set.cacheMebibytes(options.cacheMebibytes());
    if (Engines.isGo(engine) && goProgram != null) {
      command.add(goProgram.toString());
    } else {
      command.addAll(java(heap(engine, set.isLimited(), cacheMebibytes)));
    }
    command.addAll(
        new ChildOptions(
                Engines.engine(engine),
                store,
                set.entries(),
                set.valueBytes(),
                1000,
                cacheMebibytes << 20,
                options.durability(),
                options.scanMax(),
                options.gets(),
                options.gets(),
                options.threads(),
                Duration.ofSeconds(options.seconds()),
                options.seed() + round,
                workloads,
                options.rests(),
                tuning(engine, set))
            .words());
    return command;
  }

  /** What {@code --tune} says is for tuned rows alone. */
  private Tuning tuning(String row, CompareOptions.DataSet set) {
    Tuning tuning = Engines.tuning(row, set.isInMemory());
    return Engines.isTuned(row) ? tuning.with(options.tuning(), Engines.engine(row)) : tuning;
  }

  /**
   * Heap of a JVM, in MiB; more where an engine keeps its pages there. With a limit of memory it
   * has the share of the caches, a quarter.
   */
  private static long heap(String row, boolean limited, long cacheMebibytes) {
    long heap = limited ? cacheMebibytes : HEAP_MEBIBYTES;
    return heap + (Engines.isOnHeap(row) ? (limited ? 1 : 3) * cacheMebibytes : 0);
  }

  static List<String> java(long heapMebibytes) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx" + heapMebibytes + "m",
        "-XX:+UseG1GC",
        "-D" + UNSAFE + "=" + System.getProperty(UNSAFE, "allow"),
        "--enable-native-access=ALL-UNNAMED",
        "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
        "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-opens=java.base/java.nio=ALL-UNNAMED",
        "-cp",
        System.getProperty("java.class.path", "."),
        CompareChild.class.getName());
  }

  /** A progress bar that restarts with each workload. */
  private static final class Bar implements AutoCloseable {
    private final String label;
    private String workload = "";
    private @Nullable Progress progress;

    Bar(String label) {
      this.label = label;
    }

    void update(ChildLine.Done done) {
      if (progress == null || !workload.equals(done.workload())) {
        close();
        workload = done.workload();
        progress = new Progress(label + " " + workload, done.total(), System.err);
      }
      progress.update(done.done());
    }

    @Override
    public void close() {
      if (progress != null) {
        progress.close();
      }
    }
  }
}
