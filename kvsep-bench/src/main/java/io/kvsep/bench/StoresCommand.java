package io.kvsep.bench;

import io.kvsep.KvOptions;
import io.kvsep.KvResources;
import io.kvsep.KvStore;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Many stores in one process: what it costs to open and to keep them, and to write to them all. */
final class StoresCommand {
  private static final long SAMPLE_NANOS = 5_000_000;
  private static final long KEYS_PER_STORE = 100_000;

  private final int stores;
  private final KvOptions options;
  private final LongSupplier sharedBytes;
  private final Figures figures = new Figures(System.out);
  private final List<KvStore> open = new ArrayList<>();

  private StoresCommand(int stores, KvOptions options, LongSupplier sharedBytes) {
    this.stores = stores;
    this.options = options;
    this.sharedBytes = sharedBytes;
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of("own"));
    int stores = arguments.count("stores", 200, 1, 10_000);
    int threads = arguments.count("threads", 8, 1, 1024);
    int valueBytes = arguments.count("value-bytes", 128, 8, Dataset.VALUE_BYTES_MAX);
    Duration time = arguments.seconds("seconds", 10, Workers.SECONDS_MAX);
    Duration rest = arguments.seconds("rest", 8, Workers.SECONDS_MAX);
    long budget = arguments.number("memory-budget-mib", 256, 16, 1 << 20) << 20;
    int background =
        arguments.count("background-threads", KvOptions.defaults().backgroundThreads(), 1, 64);
    String directory = arguments.text("dir");
    boolean own = arguments.flag("own");
    arguments.requireAllUsed();
    Path parent =
        directory == null ? Directories.temporary() : Directories.temporary(Path.of(directory));
    KvResources shared =
        own
            ? null
            : KvResources.builder().memoryBudgetBytes(budget).backgroundThreads(background).build();
    try (Cleanup removal = Cleanup.of(() -> Directories.remove(parent))) {
      measure(parent, stores, shared, budget / stores, threads, time, rest, valueBytes);
      if (shared != null) {
        shared.close();
      }
    }
  }

  private static void measure(
      Path parent,
      int stores,
      @Nullable KvResources shared,
      long ownBytes,
      int threads,
      Duration time,
      Duration rest,
      int valueBytes) {
    KvOptions.Builder builder = KvOptions.builder();
    if (shared == null) {
      builder.memoryBudgetBytes(Math.max(16 << 20, ownBytes));
    } else {
      builder.resources(shared);
    }
    StoresCommand command =
        new StoresCommand(
            stores, builder.build(), shared == null ? () -> -1 : () -> sum(shared.memoryBytes()));
    try (Cleanup closing = Cleanup.of(() -> command.open.forEach(KvStore::close))) {
      command.openAll(parent, "create");
      command.rest(rest);
      command.write(threads, time, valueBytes);
      command.close();
      command.openAll(parent, "open again");
    }
  }

  private void openAll(Path parent, String name) {
    long begin = System.nanoTime();
    long longest = 0;
    for (int i = 0; i < stores; i++) {
      long start = System.nanoTime();
      open.add(KvStore.open(parent.resolve("store-" + i), options));
      longest = Math.max(longest, System.nanoTime() - start);
    }
    figures.seconds(name + ", mean", (System.nanoTime() - begin) / stores);
    figures.seconds(name + ", longest", longest);
    figures.count(name + ", threads", threadsOfStores());
    figures.mebibytes(name + ", off-heap", bytes());
  }

  /** Nothing is written or read. */
  private void rest(Duration time) {
    Duration measured = time.dividedBy(4);
    // The first ticks of the stores also compile them.
    pause(time.minus(measured));
    long cpu = Figures.processCpuNanos();
    long nanos = pause(measured).nanos();
    figures.text(
        "at rest, CPU",
        String.format(Locale.ROOT, "%.1f %%", (Figures.processCpuNanos() - cpu) * 100.0 / nanos));
  }

  private static Workers.Outcome pause(Duration time) {
    return Workers.run(1, time, (worker, running) -> awaitEnd(running));
  }

  private static long awaitEnd(BooleanSupplier running) {
    while (running.getAsBoolean()) {
      LockSupport.parkNanos(SAMPLE_NANOS);
    }
    return 0;
  }

  private void write(int threads, Duration time, int valueBytes) {
    Dataset dataset = new Dataset(Dataset.ENTRIES_MAX, valueBytes);
    AtomicLong bytesMost = new AtomicLong();
    AtomicInteger threadsMost = new AtomicInteger();
    long[] puts = new long[stores];
    Workers.Outcome outcome =
        Workers.run(
            threads + 1,
            time,
            (worker, running) ->
                worker == threads
                    ? watch(running, bytesMost, threadsMost)
                    : write(dataset, worker, threads, puts, running));
    figures.rate("write", outcome.operations(), outcome.operations() * valueBytes, outcome.nanos());
    figures.count("write, fewest puts of a store", Arrays.stream(puts).min().orElse(0));
    figures.count("write, most puts of a store", Arrays.stream(puts).max().orElse(0));
    figures.count("write, threads at most", threadsMost.get());
    figures.mebibytes("write, off-heap at most", bytesMost.get());
    figures.count("write, stalls", open.stream().mapToLong(store -> store.stats().stalls()).sum());
  }

  private long watch(BooleanSupplier running, AtomicLong bytesMost, AtomicInteger threadsMost) {
    while (running.getAsBoolean()) {
      bytesMost.accumulateAndGet(bytes(), Math::max);
      threadsMost.accumulateAndGet(threadsOfStores(), Math::max);
      LockSupport.parkNanos(SAMPLE_NANOS);
    }
    return 0;
  }

  /** Each thread writes to its part of the stores in turns. */
  private long write(
      Dataset dataset, int worker, int threads, long[] puts, BooleanSupplier running) {
    byte[] key = dataset.newKey();
    byte[] value = new byte[dataset.valueBytes()];
    long count = 0;
    while (running.getAsBoolean()) {
      for (int store = worker; store < stores && running.getAsBoolean(); store += threads) {
        for (int i = 0; i < 100; i++) {
          dataset.putKey(puts[store] % KEYS_PER_STORE, key);
          dataset.putValue(puts[store], value);
          open.get(store).put(key, value);
          puts[store]++;
          count++;
        }
      }
    }
    return count;
  }

  private void close() {
    long begin = System.nanoTime();
    open.forEach(KvStore::close);
    open.clear();
    figures.seconds("close, mean", (System.nanoTime() - begin) / stores);
  }

  private long bytes() {
    long shared = sharedBytes.getAsLong();
    return shared >= 0
        ? shared
        : open.stream().mapToLong(store -> sum(store.stats().memoryBytes())).sum();
  }

  private static long sum(Map<String, Long> bytes) {
    return bytes.values().stream().mapToLong(Long::longValue).sum();
  }

  private static int threadsOfStores() {
    Thread[] all = new Thread[2 * Thread.activeCount() + 64];
    int count = Thread.enumerate(all);
    return (int) Arrays.stream(all, 0, count).filter(t -> t.getName().startsWith("kvsep-")).count();
  }
}
