package io.kvsep.bench;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ReclaimReport;
import io.kvsep.StoreStats;
import io.kvsep.bench.KillLedger.Entry;
import io.kvsep.bench.KillLedger.Work;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Repeatedly kills processes that write to one store, and checks each time that all acknowledged
 * writes are there: no acknowledged write is missing, whatever its durability, no write is partial,
 * none is there without all acknowledged before it, and every value is correct to the last byte.
 *
 * <p>The processes die by SIGKILL: at random times, also during recovery, or when they report a
 * given point, such as the sync of a manifest. Data handed to the operating system survives that,
 * so this tests the death of a process, not of a machine.
 *
 * <p>Not thread safe.
 */
final class KillLoop {
  private static final Duration START_MAX = Duration.ofMinutes(2);
  private static final long END_SECONDS_MAX = 120;
  private static final long RANDOM_MILLIS_MAX = 1_500;
  private static final Duration POINT_MAX = Duration.ofSeconds(4);

  /** Exit value of a process killed by SIGKILL; a crashed one has another. */
  private static final int KILLED = 128 + 9;

  /**
   * Offset of the checking process's clock: all short-lived entries have expired, and no long-lived
   * ones.
   */
  private static final Duration AHEAD = Duration.ofDays(30);

  private final Path directory;
  private final Path ledgerFile;
  private final Class<?> child;
  private final Duration startMax;
  private final Duration pointMax;
  private final KillWorkload workload;
  private final KillModel model;
  private final KillLedger ledger;
  private final SplittableRandom random;
  private final Map<String, Integer> killsByPlace = new TreeMap<>();

  private int kills;
  private long acknowledged;
  private long synced;
  private long replayedBytes;
  private long tornBytes;
  private long flushes;
  private long compactions;
  private long filesRewritten;

  /**
   * @param directory for the store and the ledger, used by nothing else
   * @param child class with the {@code main} of {@link KillChild}, or of a faulty one in tests
   */
  KillLoop(Path directory, Class<?> child, long seed, int writers, int keys) {
    this(directory, child, seed, writers, keys, START_MAX, POINT_MAX);
  }

  /**
   * @param startMax after which a process that has not opened the store counts as hanging
   * @param pointMax after which a process that has not reached its point is killed anyway
   */
  KillLoop(
      Path directory,
      Class<?> child,
      long seed,
      int writers,
      int keys,
      Duration startMax,
      Duration pointMax) {
    this.directory = directory.resolve("store");
    this.ledgerFile = directory.resolve("ledger");
    this.child = child;
    this.startMax = startMax;
    this.pointMax = pointMax;
    this.workload = new KillWorkload(seed, writers, keys);
    this.model = new KillModel(workload);
    this.ledger = KillLedger.open(ledgerFile, writers);
    this.random = new SplittableRandom(seed);
  }

  /** Kills at the next point or time that the seed gives. */
  void killOnce() {
    int drawn = random.nextInt(StopPoint.REACHED.size() * 3 / 2);
    if (drawn >= StopPoint.REACHED.size()) {
      killAt(null);
    } else {
      StopPoint drawnPoint = StopPoint.REACHED.get(drawn);
      killAt(
          new StopPoint(
              random.nextBoolean(),
              drawnPoint.step(),
              drawnPoint.target(),
              1 + random.nextInt(drawnPoint.nth())));
    }
  }

  void killAt(@Nullable StopPoint point) {
    model.put(ledger);
    try {
      String place = runUntilKilled(point);
      killsByPlace.merge(place, 1, Integer::sum);
      kills++;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    for (int writer = 0; writer < workload.writers; writer++) {
      acknowledged += ledger.get(Entry.ACKNOWLEDGED, writer) - model.number(writer);
      synced += ledger.get(Entry.SYNCED, writer) - model.number(writer);
    }
    flushes += ledger.get(Work.FLUSHES);
    compactions += ledger.get(Work.COMPACTIONS);
    filesRewritten += ledger.get(Work.FILES_REWRITTEN);
    for (Work work : Work.values()) {
      ledger.set(work, 0);
    }
    check();
  }

  /**
   * Opens the store and checks it; see {@link KillModel#check}. Sometimes read-only first, so that
   * the next process must recover and may be killed during recovery.
   */
  void check() {
    if (Files.exists(directory.resolve("CURRENT")) && random.nextInt(2) == 0) {
      try (KvStore store = KvStore.open(directory, options().readOnly(true).build())) {
        model.check(store, ledger);
      }
      if (random.nextInt(3) > 0) {
        return;
      }
    }
    try (KvStore store = KvStore.open(directory, options().build())) {
      StoreStats stats = store.stats();
      replayedBytes += stats.replayedBytes();
      tornBytes += stats.tornBytes();
      model.check(store, ledger);
      if (random.nextInt(4) == 0) {
        ReclaimReport report = store.reclaim();
        if (!report.damagedFiles().isEmpty()) {
          throw new FailedMeasurementException("reclaim met damage: " + report);
        }
        model.checkContent(store);
      }
    }
    if (random.nextInt(4) == 0) {
      try (KvStore store = KvStore.open(directory, options().readOnly(true).build())) {
        model.checkContent(store);
      }
    }
  }

  private static KvOptions.Builder options() {
    return KillChild.builder().clock(Clock.offset(Clock.systemUTC(), AHEAD));
  }

  /** Returns where the process was killed. */
  private String runUntilKilled(@Nullable StopPoint point) throws IOException {
    Path errors = ledgerFile.resolveSibling("errors");
    Process process = new ProcessBuilder(command(point)).redirectError(errors.toFile()).start();
    Words words = new Words(process);
    try {
      words.start();
      String place = awaitMoment(point, words);
      // Through the handle, because Process.destroyForcibly would close the pipe first.
      process.toHandle().destroyForcibly();
      if (!process.waitFor(END_SECONDS_MAX, TimeUnit.SECONDS)) {
        throw new FailedMeasurementException("a killed process does not end");
      }
      words.join();
      if (process.exitValue() != KILLED) {
        throw new FailedMeasurementException(
            "a writing process ended by itself, with "
                + process.exitValue()
                + ": "
                + Files.readString(errors, UTF_8));
      }
      return place;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new FailedMeasurementException("interrupted");
    } finally {
      process.destroyForcibly();
    }
  }

  private String awaitMoment(@Nullable StopPoint point, Words words) throws InterruptedException {
    if (point != null) {
      awaitStart(words);
      boolean reached = words.stopped.await(pointMax.toMillis(), TimeUnit.MILLISECONDS);
      return reached ? (point.after() ? "after " : "before ") + point.place() : "late, anywhere";
    }
    if (random.nextInt(4) == 0) {
      // During the start of the process or the recovery of the store.
      words.stopped.await(200 + random.nextLong(600), TimeUnit.MILLISECONDS);
      return "at random, from the start";
    }
    awaitStart(words);
    words.stopped.await(random.nextLong(RANDOM_MILLIS_MAX), TimeUnit.MILLISECONDS);
    return "at random, while writing";
  }

  private void awaitStart(Words words) throws InterruptedException {
    if (!words.readyOrStopped.await(startMax.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new FailedMeasurementException(
          "a process did not open the store in " + startMax.toMillis() / 1e3 + " s");
    }
  }

  private List<String> command(@Nullable StopPoint point) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Xmx128m",
        "-XX:TieredStopAtLevel=1",
        "-Dsun.misc.unsafe.memory.access=allow",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        System.getProperty("java.class.path", "."),
        child.getName(),
        directory.toString(),
        ledgerFile.toString(),
        Long.toString(workload.seed),
        Integer.toString(workload.writers),
        Integer.toString(workload.keys),
        Long.toString(random.nextLong()),
        point == null ? "" : point.toString());
  }

  /** The store; it exists once a process was killed after creating it. */
  Path store() {
    return directory;
  }

  int kills() {
    return kills;
  }

  /** Number of writes acknowledged before their process was killed. */
  long acknowledged() {
    return acknowledged;
  }

  /** Number of kills at a requested point. */
  int killsAtPoints() {
    return killsByPlace.entrySet().stream()
        .filter(entry -> entry.getKey().matches("(before|after) .*"))
        .mapToInt(Map.Entry::getValue)
        .sum();
  }

  void print(Figures figures) {
    figures.count("kills survived", kills);
    killsByPlace.forEach((place, count) -> figures.count("  " + place, count));
    figures.count("writes acknowledged", acknowledged);
    figures.count("  of these known as synced", synced);
    figures.count("values compared", model.checkedEntries());
    figures.mebibytes("log replayed", replayedBytes);
    figures.count("bytes of torn tails", tornBytes);
    figures.count("flushes, at least", flushes);
    figures.count("compactions, at least", compactions);
    figures.count("log files rewritten, at least", filesRewritten);
  }

  /** Reads the output of a process until its end. */
  private static final class Words extends Thread {
    final CountDownLatch readyOrStopped = new CountDownLatch(1);
    final CountDownLatch stopped = new CountDownLatch(1);
    private final Process process;

    Words(Process process) {
      super("kvsep-bench-words");
      this.process = process;
      setDaemon(true);
    }

    @Override
    public void run() {
      try (BufferedReader lines =
          new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          readyOrStopped.countDown();
          if (line.equals("stopped")) {
            stopped.countDown();
          }
        }
      } catch (IOException e) {
        // The process has died, which closed the pipe.
        return;
      } finally {
        readyOrStopped.countDown();
        stopped.countDown();
      }
    }
  }
}
