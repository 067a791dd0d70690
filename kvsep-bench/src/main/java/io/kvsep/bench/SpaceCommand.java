package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ReclaimReport;
import io.kvsep.StoreStats;
import io.kvsep.WriteBatch;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Shows that space is reclaimed: measures the files while values are overwritten, deleted or
 * expire, and the cost of reclaim. Every entry is read and compared at the end.
 */
final class SpaceCommand {
  private static final long POLL_NANOS = 50_000_000;
  private static final int TIME_TO_LIVE_SECONDS = 20;

  /** Entries that a scan reads. */
  private static final long SCANNED_MAX = 300_000;

  private final Dataset dataset;
  private final StoreArguments store;
  private final int overwrites;
  private final int batchCount;
  private final Figures figures = new Figures(System.out);
  private final Random random = new Random(7);

  /** Overwrites of each entry; its value is derived from that. */
  private final byte[] generations;

  private SpaceCommand(Dataset dataset, StoreArguments store, int overwrites, int batchCount) {
    this.dataset = dataset;
    this.store = store;
    this.overwrites = overwrites;
    this.batchCount = batchCount;
    this.generations = new byte[Math.toIntExact(dataset.entryCount())];
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    StoreArguments store = StoreArguments.forNew(arguments, "none");
    long entries = arguments.number("entries", 1_000_000, 1, 100_000_000);
    int batch = arguments.count("batch", 100, 1, 1_000_000);
    int overwrites = arguments.count("overwrites", 10, 1, 100);
    String what = arguments.choice("what", "overwrite", "delete", "expire", "cost", "scan");
    int rounds = arguments.count("rounds", 3, 1, 100);
    arguments.requireAllUsed();
    SpaceCommand command =
        new SpaceCommand(new Dataset(entries, store.valueBytes()), store, overwrites, batch);
    store.runInNew(
        directory -> {
          switch (what) {
            case "overwrite" -> command.overwrite(directory);
            case "delete" -> command.delete(directory);
            case "expire" -> command.expire(directory);
            case "scan" -> command.scan(directory, rounds);
            default -> command.cost(directory, rounds);
          }
        });
  }

  private void overwrite(Path directory) {
    KvOptions options = store.options();
    try (KvStore target = KvStore.open(directory, options)) {
      load(target, null);
      figures.ratio("files / live, loaded", ratio(Directories.fileBytes(directory)));
      long nanos;
      try (SpaceSampler sampler = new SpaceSampler(directory, target)) {
        nanos = overwriteAll(target);
        figures.ratio("files / live, peak", ratio(sampler.peakBytes()));
        StoreStats peak = sampler.peakStats();
        figures.ratio("  log that tables need", ratio(peak.logLiveBytes()));
        figures.ratio("  known garbage", ratio(peak.reclaim().reclaimableBytes()));
        figures.ratio("  pinned", ratio(peak.pinned().logBytes()));
        figures.ratio("  tables", ratio(peak.tableBytes()));
      }
      long writes = dataset.entryCount() * overwrites;
      figures.rate("overwrite rate", writes, overwrites * dataset.rawBytes(), nanos);
      figures.ratio("files / live, at the end", ratio(Directories.fileBytes(directory)));
      long wanted = (long) (options.spaceAmplificationMax() * dataset.rawBytes());
      figures.seconds("until it is held", await(directory, wanted, 60));
      figures.ratio("files / live, then", ratio(Directories.fileBytes(directory)));
      printStats(target.stats());
      check(target);
      report("after reclaim()", target.reclaim(), directory);
      check(target);
    }
  }

  private void delete(Path directory) {
    try (KvStore target = KvStore.open(directory, store.options())) {
      load(target, null);
      target.flush();
      long peak;
      try (SpaceSampler sampler = new SpaceSampler(directory, target)) {
        byte[] key = dataset.newKey();
        WriteBatch batch = new WriteBatch();
        for (long ordinal = 0; ordinal < dataset.entryCount(); ordinal++) {
          dataset.putKey(dataset.shuffled(ordinal), key);
          batch.delete(key);
          if (batch.count() == batchCount) {
            target.write(batch);
            batch.clear();
          }
        }
        target.write(batch);
        peak = sampler.peakBytes();
      }
      figures.mebibytes("peak", peak);
      report("after reclaim()", target.reclaim(), directory);
      figures.ratio("files / peak", Directories.fileBytes(directory) / (double) peak);
    }
  }

  private void expire(Path directory) {
    try (KvStore target = KvStore.open(directory, store.options())) {
      long start = System.nanoTime();
      load(target, Duration.ofSeconds(TIME_TO_LIVE_SECONDS));
      long loaded = System.nanoTime() - start;
      long peak = Directories.fileBytes(directory);
      figures.seconds("loaded in", loaded);
      figures.mebibytes("peak", peak);
      long nanos = await(directory, peak / 100, TIME_TO_LIVE_SECONDS + 120);
      figures.seconds("from the last expiry to 1 %", nanos - TIME_TO_LIVE_SECONDS * 1_000_000_000L);
      figures.ratio("files / peak", Directories.fileBytes(directory) / (double) peak);
    }
  }

  /** The same load with and without reclaim, alternately. */
  private void cost(Path directory, int rounds) {
    double[] ratios = new double[rounds];
    for (int round = 0; round < rounds; round++) {
      double with = overwriteRate(directory.resolve("with-" + round), store.options());
      double without = overwriteRate(directory.resolve("without-" + round), store.withoutReclaim());
      ratios[round] = with / without;
      figures.ratio("round " + (round + 1), ratios[round]);
    }
    figures.ratio("with reclaim / without, median", Figures.median(ratios));
  }

  /** Reads values written in random order, in key order from the device, before and after. */
  private void scan(Path directory, int rounds) {
    try (KvStore target = KvStore.open(directory, store.withoutReclaim())) {
      load(target, null);
      overwriteAll(target);
    }
    FileCache.drop(figures);
    figures.ratio("files / live, before", ratio(Directories.fileBytes(directory)));
    double before = scanRate(directory, rounds, "before");
    FileCache.drop(figures);
    try (KvStore target = KvStore.open(directory, store.options())) {
      report("after reclaim()", target.reclaim(), directory);
    }
    double after = scanRate(directory, rounds, "after");
    figures.ratio("scan after / before, medians", after / before);
    try (KvStore target = KvStore.open(directory, store.options())) {
      check(target);
    }
  }

  private double scanRate(Path directory, int rounds, String when) {
    double[] rates = new double[rounds];
    for (int round = 0; round < rounds; round++) {
      FileCache.drop(figures);
      long count = 0;
      long bytes = 0;
      long nanos;
      try (KvStore target = KvStore.open(directory, store.withoutReclaim());
          KvCursor cursor = target.cursor()) {
        long start = System.nanoTime();
        while (count < SCANNED_MAX && cursor.next()) {
          count++;
          bytes += cursor.keyView().remaining() + cursor.valueView().remaining();
        }
        nanos = System.nanoTime() - start;
      }
      figures.rate("scan " + when + ", round " + (round + 1), count, bytes, nanos);
      rates[round] = count / (double) nanos;
    }
    return Figures.median(rates);
  }

  private double overwriteRate(Path directory, KvOptions options) {
    Arrays.fill(generations, (byte) 0);
    try (KvStore target = KvStore.open(directory, options)) {
      load(target, null);
      long nanos = overwriteAll(target);
      long writes = dataset.entryCount() * overwrites;
      figures.rate("overwrite rate", writes, overwrites * dataset.rawBytes(), nanos);
      printStats(target.stats());
      return writes / (double) nanos;
    } finally {
      Directories.remove(directory);
    }
  }

  private void load(KvStore target, @Nullable Duration timeToLive) {
    byte[] key = dataset.newKey();
    byte[] value = new byte[dataset.valueBytes()];
    WriteBatch batch = new WriteBatch();
    for (long index = 0; index < dataset.entryCount(); index++) {
      long ordinal = dataset.shuffled(index);
      dataset.putKey(ordinal, key);
      dataset.putValue(ordinal, value);
      if (timeToLive == null) {
        batch.put(key, value);
      } else {
        batch.put(key, value, timeToLive);
      }
      if (batch.count() == batchCount) {
        target.write(batch);
        batch.clear();
      }
    }
    target.write(batch);
  }

  private long overwriteAll(KvStore target) {
    byte[] key = dataset.newKey();
    byte[] value = new byte[dataset.valueBytes()];
    WriteBatch batch = new WriteBatch();
    long writes = dataset.entryCount() * overwrites;
    long start = System.nanoTime();
    try (Progress progress = new Progress("overwrite", writes, System.err)) {
      for (long i = 0; i < writes; i++) {
        int ordinal = random.nextInt(generations.length);
        generations[ordinal]++;
        dataset.putKey(ordinal, key);
        dataset.putValue(source(ordinal), value);
        batch.put(key, value);
        if (batch.count() == batchCount) {
          target.write(batch);
          batch.clear();
          progress.update(i);
        }
      }
      target.write(batch);
    }
    return System.nanoTime() - start;
  }

  /** Ordinal from which an entry's current value is derived. */
  private long source(int ordinal) {
    return ordinal + generations[ordinal] * 1_000_000_007L;
  }

  private void check(KvStore target) {
    byte[] key = dataset.newKey();
    for (int ordinal = 0; ordinal < generations.length; ordinal++) {
      dataset.putKey(ordinal, key);
      byte[] value = target.get(key);
      if (value == null || !dataset.isValue(source(ordinal), value)) {
        throw new FailedMeasurementException("entry " + ordinal + " is missing or wrong");
      }
    }
  }

  /** Waits until the files take at most that many bytes; returns the time it took. */
  private static long await(Path directory, long bytes, int secondsMax) {
    long start = System.nanoTime();
    while (Directories.fileBytes(directory) > bytes) {
      if (System.nanoTime() - start > secondsMax * 1_000_000_000L) {
        throw new FailedMeasurementException(
            "the files still take " + Directories.fileBytes(directory) + " bytes, wanted " + bytes);
      }
      LockSupport.parkNanos(POLL_NANOS);
    }
    return System.nanoTime() - start;
  }

  private double ratio(long bytes) {
    return bytes / (double) dataset.rawBytes();
  }

  private void printStats(StoreStats stats) {
    figures.ratio("write amplification", stats.writeAmplification());
    figures.ratio("  of the log", stats.logBytesWritten() / (double) stats.userBytesWritten());
    figures.seconds("stalled", stats.stallNanos());
  }

  private void report(String when, ReclaimReport report, Path directory) {
    figures.text("reclaim()", report.toString());
    figures.ratio("files / live, " + when, ratio(Directories.fileBytes(directory)));
  }
}
