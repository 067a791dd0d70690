package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.bench.FailedMeasurementException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/** Every engine of the JVM does everything, and what it reads is checked. */
final class SequenceTest {
  @SuppressWarnings("UnusedVariable") // named in the annotation
  private static final List<String> ENGINES = Engines.JAVA;

  @SuppressWarnings("UnusedVariable")
  private static final List<String> ROWS =
      Engines.rows().stream().filter(row -> !Engines.isGo(row)).toList();

  @TempDir Path directory;

  private final ByteArrayOutputStream said = new ByteArrayOutputStream();

  private ChildOptions options(String engine, String valueBytes, String workloads) {
    return ChildOptions.parse(
        List.of(
            ("--engine E --dir D --entries 2000 --value-bytes V --batch 100 --cache-mib 16"
                    + " --durability none --scan-max 1500 --gets 2000 --misses 2000 --threads 2"
                    + " --seconds 0.1 --seed 1 --rest none,settled,idle --workloads W")
                .replace(" D ", " " + directory.resolve(engine) + " ")
                .replace(" E ", " " + engine + " ")
                .replace(" V ", " " + valueBytes + " ")
                .replace(" W", " " + workloads)
                .split(" ")));
  }

  private static Map<String, Double> results(List<ChildLine.Result> lines) {
    Map<String, Double> results = new HashMap<>();
    lines.forEach(line -> results.put(line.workload() + "." + line.metric(), line.value()));
    return results;
  }

  private static ChildProcess.Outcome child(ChildOptions options) {
    List<String> command = new ArrayList<>(CompareCommand.java(/* heapMebibytes= */ 560));
    // A child lives too short to be worth better code.
    command.add(1, "-XX:TieredStopAtLevel=1");
    command.addAll(options.words());
    ChildProcess.Outcome outcome = ChildProcess.run(command, Duration.ofMinutes(5), progress -> {});
    assertNull(outcome.failed(), outcome::toString);
    return outcome;
  }

  @ParameterizedTest
  @FieldSource("ENGINES")
  @Execution(ExecutionMode.CONCURRENT)
  void everythingIsDone(String engine) {
    List<ChildLine.Result> lines = new ArrayList<>();
    for (List<String> workloads : CompareCommand.processes(Workload.ALL)) {
      lines.addAll(child(options(engine, "300/2000", String.join(",", workloads))).results());
    }
    Map<String, Double> results = results(lines);
    Set<String> expected = new HashSet<>();
    for (String workload : Workload.ALL) {
      expected.add(
          switch (workload) {
            case "load" -> "load.until_closed";
            case "open" -> "open.seconds";
            default -> workload + ".rate";
          });
    }
    if (!engine.equals("kvsep") && !engine.equals("lmdb")) {
      expected.remove("get_view.rate");
    }
    for (String rest : List.of("-settled", "-idle")) {
      expected.addAll(Set.of("open" + rest + ".seconds", "get" + rest + ".rate"));
      expected.addAll(Set.of("load" + rest + ".seconds", "overwrite" + rest + ".written_bytes"));
    }
    expected.addAll(Set.of("cold.open", "cold.first_get", "steady.disk_by_raw@1"));
    expected.addAll(Set.of("load.disk_by_raw", "overwrite.disk_by_raw", "process.cpu"));
    Set<String> missing = new HashSet<>(expected);
    missing.removeAll(results.keySet());
    assertEquals(Set.of(), missing);
    results.forEach(
        (name, value) -> {
          // An engine may have nothing to do when it is left alone.
          boolean mayBeNone =
              name.contains("written") || name.contains("memory") || name.endsWith("-idle.seconds");
          boolean possible = value > 0 || (mayBeNone && value >= 0);
          assertTrue(possible && value < 1e12, name + "=" + value);
        });
    assertTrue(results.getOrDefault("load.disk_by_raw", 0.0) >= 0.9, results::toString);
  }

  @ParameterizedTest
  @FieldSource("ROWS")
  @Execution(ExecutionMode.CONCURRENT)
  void settingsOfARowAreItsDifferencesFromTheDefaults(String row) {
    Tuning tuning = Engines.tuning(row, /* inMemory= */ true);
    assertEquals(Engines.isTuned(row) || row.equals("kvsep-unverified"), !tuning.isEmpty());
    String words = "load" + (tuning.isEmpty() ? "" : " --tune " + tuning);
    ChildLine.About about = child(options(Engines.engine(row), "128", words)).about();
    String settings = about == null ? "none" : about.settings();
    assertTrue(settings.contains(tuning.toString()), settings);
    assertTrue(settings.endsWith(",durability=none"), settings);
  }

  @Test
  void xodusSyncsOnceASecondWhereThatIsAskedForAlone() {
    ChildOptions options = options("xodus", "128", "get");
    for (SyncMode mode : SyncMode.values()) {
      try (Engine engine = open(options, mode)) {
        assertEquals(
            mode == SyncMode.ASYNC, engine.settings().contains(",sync_ms=1000,"), engine::settings);
      }
    }
  }

  @Test
  void onlyWhatIsAskedForIsDone() {
    ChildOptions options = options("kvsep", "128", "miss");
    assertTrue(CompareChild.run(options, new ChildOutput(new PrintStream(said, true, UTF_8))));
    Set<String> workloads = new HashSet<>();
    said.toString(UTF_8)
        .lines()
        .map(line -> ChildLine.parse(line).orElseThrow(() -> new AssertionError(line)))
        .forEach(
            line -> {
              if (line instanceof ChildLine.Result result) {
                workloads.add(result.workload());
              }
            });
    assertEquals(
        Set.of("load", "miss", "load-settled", "miss-settled", "load-idle", "miss-idle", "process"),
        workloads);
  }

  @Test
  void engineThatCannotBeOpenedIsSaid() throws java.io.IOException {
    java.nio.file.Files.writeString(directory.resolve("kvsep"), "in the way");
    ChildOptions options = options("kvsep", "128", "get");
    PrintStream errors = System.err;
    System.setErr(new PrintStream(new ByteArrayOutputStream(), true, UTF_8));
    try {
      assertTrue(!CompareChild.run(options, new ChildOutput(new PrintStream(said, true, UTF_8))));
    } finally {
      System.setErr(errors);
    }
    assertTrue(said.toString(UTF_8).startsWith("failed workload=load reason="), said::toString);
  }

  @Test
  void readThatIsWrongIsNoticed() {
    ChildOptions options = options("kvsep", "128", "get");
    ChildOptions others = options("kvsep", "136", "get");
    ChildOutput output = new ChildOutput(new PrintStream(said, true, UTF_8));
    try (Engine engine = open(options, SyncMode.NONE)) {
      new WriteWorkloads(options, options.entries(), engine, output).load();
      ReadWorkloads right = new ReadWorkloads(options, options.entries(), engine, output);
      right.gets("get", 1, 100);
      right.iterate("iterate", /* keysOnly= */ false);
      // A data set of another length: its keys are absent.
      ReadWorkloads wrong = new ReadWorkloads(others, others.entries(), engine, output);
      assertThrows(FailedMeasurementException.class, () -> wrong.gets("get", 1, 100));
      assertThrows(FailedMeasurementException.class, () -> wrong.views("get_view", 1, 100));
      byte[] key = options.entries().newKey();
      try (Engine.Writer writer = engine.writer()) {
        for (int ordinal = 0; ordinal < 2000; ordinal++) {
          options.entries().putKey(ordinal, key);
          byte[] value = options.entries().values().of(ordinal).clone();
          value[127] ^= 1;
          writer.put(key, value);
        }
      }
      assertThrows(FailedMeasurementException.class, () -> right.gets("get", 1, 100));
      assertThrows(FailedMeasurementException.class, () -> right.reusedGets("get_reused", 1, 100));
      assertThrows(FailedMeasurementException.class, () -> right.views("get_view", 1, 100));
      assertThrows(FailedMeasurementException.class, () -> right.iterate("iterate", false));
      options.entries().putAbsentKey(3, key);
      try (Engine.Writer writer = engine.writer()) {
        for (int ordinal = 0; ordinal < 2000; ordinal++) {
          options.entries().putAbsentKey(ordinal, key);
          writer.put(key, key);
        }
      }
      assertThrows(FailedMeasurementException.class, () -> right.misses("miss", 1, 100));
    }
  }

  /** Else a read would find what the one before has just brought into memory. */
  @Test
  void noReadsAreThoseOfAnotherWorkloadOrOfTheWarmUp() {
    ChildOptions options = options("recording", "128", "get");
    RecordingEngine engine = new RecordingEngine(options.entries());
    ChildOutput output = new ChildOutput(new PrintStream(said, true, UTF_8));
    ReadWorkloads reads = new ReadWorkloads(options, options.entries(), engine, output);
    reads.gets("get", 2, 2000);
    reads.reusedGets("get_reused", 2, 2000);
    reads.gets("get1", 1, 2000);
    reads.gets("get-settled", 2, 2000);
    reads.views("get_view", 2, 2000);
    reads.misses("miss", 2, 2000);
    MixedWorkload mixed = new MixedWorkload(options, options.entries(), engine, output);
    Mix.ALL.stream().filter(mix -> mix.scans() == 0).forEach(mixed::run);
    // A thread that comes late may find nothing left to do.
    List<List<Long>> first =
        engine.read.stream()
            .filter(all -> all.size() >= 32)
            .map(all -> all.subList(0, 32))
            .toList();
    assertTrue(first.size() >= 10, first::toString);
    assertEquals(first.size(), new HashSet<>(first).size(), first::toString);
  }

  /** Engines that sync by themselves do not wait for it either. */
  @Test
  void timeOfWritingEndsBeforeTheLastSyncDoes() {
    ChildOptions options = options("recording", "128", "overwrite");
    ChildOutput output = new ChildOutput(new PrintStream(said, true, UTF_8));
    for (String rate : List.of("load metric=until_written", "overwrite metric=rate")) {
      CountDownLatch syncing = new CountDownLatch(1);
      CountDownLatch told = new CountDownLatch(1);
      RecordingEngine engine =
          new RecordingEngine(options.entries()) {
            @Override
            void commit() {
              await(syncing);
            }

            @Override
            public void sync() {
              syncing.countDown();
              await(told);
            }
          };
      WriteWorkloads writes = new WriteWorkloads(options, options.entries(), engine, output);
      try (SyncTimer timer = SyncTimer.of(engine, SyncMode.ASYNC)) {
        if (rate.startsWith("load")) {
          writes.load();
        } else {
          writes.overwrite();
        }
        assertTrue(said.toString(UTF_8).contains(rate), said::toString);
        told.countDown();
      }
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(1, TimeUnit.MINUTES));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Engine open(ChildOptions options, SyncMode mode) {
    Entries entries = options.entries();
    return Engines.open(
        options.engine(),
        new EngineOptions(
            options.directory(),
            options.cacheBytes(),
            mode,
            entries.valueBytesMax(),
            entries.rawBytes(),
            options.tuning()));
  }
}
