package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.StoreStats;
import io.kvsep.WriteBatch;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * Loads a store and verifies all of it after a clean close. The heap holds only one batch, whatever
 * the number of entries.
 */
final class LoadCommand {
  private static final long POLL_NANOS = 20_000_000;

  /** Background work has finished if the statistics have not changed for this long. */
  static final long QUIET_NANOS = 500_000_000;

  private final Dataset dataset;
  private final StoreArguments store;
  private final int batchCount;
  private final boolean shuffled;
  private final Figures figures = new Figures(System.out);
  private long offHeapPeakBytes;

  private LoadCommand(Dataset dataset, StoreArguments store, int batchCount, boolean shuffled) {
    this.dataset = dataset;
    this.store = store;
    this.batchCount = batchCount;
    this.shuffled = shuffled;
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    StoreArguments store = StoreArguments.forNew(arguments, "none");
    long entries = arguments.number("entries", 1_000_000, 1, Dataset.ENTRIES_MAX);
    int batch = arguments.count("batch", 1000, 1, 1_000_000);
    boolean shuffled = arguments.choice("order", "shuffled", "ascending").equals("shuffled");
    arguments.requireAllUsed();
    LoadCommand command =
        new LoadCommand(new Dataset(entries, store.valueBytes()), store, batch, shuffled);
    store.runInNew(command::run);
  }

  private void run(Path directory) {
    figures.count("entries", dataset.entryCount());
    figures.count("value bytes", dataset.valueBytes());
    KvOptions options = store.options();
    loadAndClose(directory, options);
    long start = System.nanoTime();
    try (KvStore reopened = KvStore.open(directory, options)) {
      figures.seconds("reopen", System.nanoTime() - start);
      figures.mebibytes("replayed", reopened.stats().replayedBytes());
      readBack(reopened);
      scan(reopened);
      offHeapPeakBytes = Math.max(offHeapPeakBytes, reopened.stats().memoryPeakBytes());
    }
    long diskBytes = Directories.fileBytes(directory);
    figures.mebibytes("disk", diskBytes);
    figures.ratio("disk / raw", diskBytes / (double) dataset.rawBytes());
    figures.mebibytes("heap peak", Figures.heapPeakBytes());
    figures.mebibytes("heap limit", Runtime.getRuntime().maxMemory());
    figures.mebibytes("off-heap peak", offHeapPeakBytes);
    figures.mebibytes("off-heap budget", options.memoryBudgetBytes());
    if (offHeapPeakBytes > options.memoryBudgetBytes()) {
      throw new FailedMeasurementException("the off-heap peak is beyond the budget");
    }
  }

  private void loadAndClose(Path directory, KvOptions options) {
    KvStore loaded = KvStore.open(directory, options);
    long closing;
    try {
      if (!isEmpty(loaded)) {
        throw new UsageException("--dir holds entries already: " + directory);
      }
      long processCpuStart = Figures.processCpuNanos();
      long cpuStart = Figures.cpuNanos();
      long start = System.nanoTime();
      load(loaded);
      long nanos = System.nanoTime() - start;
      figures.seconds("load, CPU of the writer", Figures.cpuNanos() - cpuStart);
      figures.seconds("load", nanos);
      figures.rate("load rate", dataset.entryCount(), dataset.rawBytes(), nanos);
      start = System.nanoTime();
      settle(loaded);
      figures.seconds("settle", System.nanoTime() - start);
      figures.seconds("load and settle, all CPU", Figures.processCpuNanos() - processCpuStart);
      StoreStats stats = loaded.stats();
      figures.seconds("stalled", stats.stallNanos());
      figures.ratio("write amplification", stats.writeAmplification());
      offHeapPeakBytes = stats.memoryPeakBytes();
    } finally {
      closing = System.nanoTime();
      loaded.close();
    }
    figures.seconds("clean close", System.nanoTime() - closing);
  }

  private static boolean isEmpty(KvStore store) {
    try (KvCursor cursor = store.cursor(ScanOptions.all().keysOnly())) {
      return !cursor.next();
    }
  }

  private void load(KvStore target) {
    byte[] key = dataset.newKey();
    byte[] value = new byte[dataset.valueBytes()];
    WriteBatch batch = new WriteBatch();
    try (Progress progress = new Progress("load", dataset.entryCount(), System.err)) {
      for (long index = 0; index < dataset.entryCount(); index++) {
        long ordinal = shuffled ? dataset.shuffled(index) : index;
        dataset.putKey(ordinal, key);
        dataset.putValue(ordinal, value);
        batch.put(key, value);
        if (batch.count() == batchCount) {
          target.write(batch);
          batch.clear();
          progress.update(index + 1);
        }
      }
      target.write(batch);
    }
  }

  /** Flushes, and waits until the following compactions have finished. */
  static void settle(KvStore target) {
    target.flush();
    StoreStats last = target.stats();
    long quietSince = System.nanoTime();
    while (System.nanoTime() - quietSince < QUIET_NANOS) {
      LockSupport.parkNanos(POLL_NANOS);
      StoreStats now = target.stats();
      if (now.compactions() != last.compactions()
          || now.memoryBytes().getOrDefault("table_build", 0L) > 0) {
        quietSince = System.nanoTime();
      }
      last = now;
    }
  }

  private void readBack(KvStore source) {
    byte[] key = dataset.newKey();
    long cpuStart = Figures.cpuNanos();
    long start = System.nanoTime();
    try (Progress progress = new Progress("read back", dataset.entryCount(), System.err)) {
      for (long ordinal = 0; ordinal < dataset.entryCount(); ordinal++) {
        dataset.putKey(ordinal, key);
        byte[] value = source.get(key);
        if (value == null) {
          throw new FailedMeasurementException("entry " + ordinal + " is missing");
        }
        if (!dataset.isValue(ordinal, value)) {
          throw new FailedMeasurementException("entry " + ordinal + " has a wrong value");
        }
        if ((ordinal & 1023) == 0) {
          progress.update(ordinal);
        }
      }
    }
    long nanos = System.nanoTime() - start;
    figures.seconds("read back and checked", nanos);
    figures.seconds("read back, CPU", Figures.cpuNanos() - cpuStart);
    figures.rate("read back rate", dataset.entryCount(), dataset.rawBytes(), nanos);
  }

  private void scan(KvStore source) {
    long count = 0;
    long cpuStart = Figures.cpuNanos();
    long start = System.nanoTime();
    try (Progress progress = new Progress("scan", dataset.entryCount(), System.err);
        KvCursor cursor = source.cursor()) {
      while (cursor.next()) {
        count++;
        if (cursor.valueView().remaining() != dataset.valueBytes()) {
          throw new FailedMeasurementException("the scan found a value of another length");
        }
        if ((count & 1023) == 0) {
          progress.update(count);
        }
      }
    }
    long nanos = System.nanoTime() - start;
    if (count != dataset.entryCount()) {
      throw new FailedMeasurementException("the scan found " + count + " entries");
    }
    figures.seconds("scan, CPU", Figures.cpuNanos() - cpuStart);
    figures.rate("scan rate", count, dataset.rawBytes(), nanos);
  }
}
