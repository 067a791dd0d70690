package io.kvsep.bench;

import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;

/** Concurrent single puts: measures how many commits share one sync. */
final class CommitsCommand {
  private CommitsCommand() {}

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of());
    StoreArguments chosen = StoreArguments.forNew(arguments, "sync");
    int threads = arguments.count("threads", 16, 1, 1024);
    long seconds = arguments.number("seconds", 10, 1, 86_400);
    arguments.requireAllUsed();
    chosen.runInNew(
        directory -> {
          try (KvStore store = KvStore.open(directory, chosen.options())) {
            measure(store, chosen.valueBytes(), threads, seconds);
          }
        });
  }

  private static void measure(KvStore store, int valueBytes, int threads, long seconds) {
    Dataset dataset = new Dataset(Dataset.ENTRIES_MAX, valueBytes);
    StoreStats before = store.stats();
    Workers.Outcome outcome =
        Workers.run(
            threads, seconds, (worker, running) -> write(store, dataset, worker, threads, running));
    StoreStats after = store.stats();
    long commits = after.commits() - before.commits();
    long syncs = after.syncs() - before.syncs();
    Figures figures = new Figures(System.out);
    figures.count("threads", threads);
    figures.count("commits", commits);
    figures.count("syncs", syncs);
    figures.ratio("commits per sync", commits / (double) Math.max(1, syncs));
    figures.rate("commit rate", commits, outcome.operations() * valueBytes, outcome.nanos());
    figures.rate("sync rate", syncs, 0, outcome.nanos());
    if (outcome.operations() != commits) {
      throw new FailedMeasurementException(
          outcome.operations() + " puts returned, but " + commits + " commits were counted");
    }
  }

  private static long write(
      KvStore store, Dataset dataset, int worker, int threads, BooleanSupplier running) {
    byte[] key = dataset.newKey();
    byte[] value = new byte[dataset.valueBytes()];
    long ordinal = worker;
    long count = 0;
    while (running.getAsBoolean()) {
      dataset.putKey(ordinal, key);
      dataset.putValue(ordinal, value);
      store.put(key, value);
      ordinal += threads;
      count++;
    }
    return count;
  }
}
