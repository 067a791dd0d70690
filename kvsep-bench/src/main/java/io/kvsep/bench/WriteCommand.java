package io.kvsep.bench;

import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import io.kvsep.WriteBatch;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * Writes entries into a new or existing store, in batches on several threads, until all are written
 * or the time is over; prints speed, latencies and cost.
 */
final class WriteCommand {
  private final Dataset dataset;
  private final int batchCount;
  private final boolean shuffled;
  private final List<Latencies> latencies;
  private final Figures figures = new Figures(System.out);

  /** The first entry that no thread has taken yet. */
  private final AtomicLong next = new AtomicLong();

  private WriteCommand(Dataset dataset, int batchCount, boolean shuffled, int threads) {
    this.dataset = dataset;
    this.batchCount = batchCount;
    this.shuffled = shuffled;
    this.latencies = Latencies.ofThreads(threads);
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    StoreArguments store = StoreArguments.forNew(arguments, "none");
    long entries = arguments.number("entries", 1_000_000, 1, Dataset.ENTRIES_MAX);
    int threads = arguments.count("threads", 1, 1, 1024);
    Duration time = arguments.seconds("seconds", Workers.SECONDS_MAX, Workers.SECONDS_MAX);
    int batch = arguments.count("batch", 1000, 1, 1_000_000);
    boolean shuffled = arguments.choice("order", "shuffled", "ascending").equals("shuffled");
    arguments.requireAllUsed();
    Dataset dataset = new Dataset(entries, store.valueBytes());
    WriteCommand command = new WriteCommand(dataset, batch, shuffled, threads);
    store.runInNew(
        directory -> {
          try (KvStore target = KvStore.open(directory, store.options())) {
            command.measure(target, directory, time);
          }
        });
  }

  private void measure(KvStore target, Path directory, Duration time) {
    Workers.Outcome outcome;
    try (Progress progress = new Progress("write", dataset.entryCount(), System.err)) {
      outcome =
          Workers.run(
              latencies.size(),
              time,
              (worker, running) -> write(target, worker, running, progress));
    }
    long count = outcome.operations();
    long bytes = count * (Dataset.KEY_BYTES + dataset.valueBytes());
    figures.count("entries written", count);
    figures.rate("write", count, bytes, outcome.nanos());
    figures.rate("write, a CPU second", count, bytes, outcome.cpuNanos());
    figures.latencies("write of a batch", Latencies.sum(latencies));
    long start = System.nanoTime();
    LoadCommand.settle(target);
    figures.seconds("settle", System.nanoTime() - start);
    StoreStats stats = target.stats();
    figures.count("commits", stats.commits());
    figures.count("syncs", stats.syncs());
    figures.seconds("stalled", stats.stallNanos());
    figures.ratio("write amplification", stats.writeAmplification());
    figures.ratio("space amplification", stats.spaceAmplification());
    figures.mebibytes("disk", Directories.fileBytes(directory));
    figures.mebibytes("off-heap peak", stats.memoryPeakBytes());
  }

  private long write(KvStore target, int worker, BooleanSupplier running, Progress progress) {
    byte[] key = dataset.newKey();
    byte[] value = new byte[dataset.valueBytes()];
    WriteBatch batch = new WriteBatch();
    Latencies own = latencies.get(worker);
    long done = 0;
    while (running.getAsBoolean()) {
      long from = next.getAndAdd(batchCount);
      long end = Math.min(from + batchCount, dataset.entryCount());
      if (from >= end) {
        break;
      }
      for (long index = from; index < end; index++) {
        long ordinal = shuffled ? dataset.shuffled(index) : index;
        dataset.putKey(ordinal, key);
        dataset.putValue(ordinal, value);
        batch.put(key, value);
      }
      long start = System.nanoTime();
      target.write(batch);
      own.add(System.nanoTime() - start);
      batch.clear();
      done += end - from;
      if (worker == 0) {
        progress.update(end);
      }
    }
    return done;
  }
}
