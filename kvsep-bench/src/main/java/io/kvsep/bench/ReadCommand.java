package io.kvsep.bench;

import io.kvsep.KvReader;
import io.kvsep.KvStore;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** Reads random keys of any store, from a sample of its own keys. The store is opened read-only. */
final class ReadCommand {
  /** Reads between two looks at the clock. */
  private static final int ROUND = 256;

  /** One read in this many is timed: a look at the clock costs a tenth of a read. */
  private static final int TIMED = 8;

  private final KvStore store;
  private final KeySample sample;
  private final boolean viaView;
  private final LongAdder bytes = new LongAdder();
  private final LongAdder absent = new LongAdder();

  private ReadCommand(KvStore store, KeySample sample, boolean viaView) {
    this.store = store;
    this.sample = sample;
    this.viaView = viaView;
  }

  static void run(List<String> words) {
    Arguments arguments = Arguments.parse(words, Set.of("full-scan", "cold"));
    StoreArguments chosen = StoreArguments.forReading(arguments);
    int threads = arguments.count("threads", 1, 1, 1024);
    Duration time = arguments.seconds("seconds", 10, Workers.SECONDS_MAX);
    int sampleMax = arguments.count("sample", 1_000_000, 1, 100_000_000);
    boolean viaView = arguments.choice("via", "array", "view").equals("view");
    boolean fullScan = arguments.flag("full-scan");
    boolean cold = arguments.flag("cold");
    arguments.requireAllUsed();
    Figures figures = new Figures(System.out);
    try (KvStore store = KvStore.open(chosen.existing(), chosen.options())) {
      KeySample sample = sample(store, sampleMax, figures);
      if (cold) {
        FileCache.drop(figures);
      } else {
        // Warms up code and file cache.
        new ReadCommand(store, sample, viaView)
            .measure("warm-up", threads, time.dividedBy(2), figures);
      }
      new ReadCommand(store, sample, viaView).measure("read", threads, time, figures);
      if (fullScan) {
        if (cold) {
          FileCache.drop(figures);
        }
        Walk.all(store).measure("full scan", 1, Workers.TIME_MAX, figures);
      }
      figures.mebibytes("off-heap peak", store.stats().memoryPeakBytes());
    }
  }

  private static KeySample sample(KvStore store, int countMax, Figures figures) {
    long start = System.nanoTime();
    KeySample sample;
    try (Progress progress = new Progress("sample", store.stats().entriesEstimate(), System.err)) {
      sample = KeySample.of(store, countMax, progress);
    }
    figures.count("entries", sample.entryCount());
    figures.count("keys in the sample", sample.keys().size());
    figures.seconds("taking the sample", System.nanoTime() - start);
    if (sample.keys().isEmpty()) {
      throw new FailedMeasurementException("the store is empty");
    }
    return sample;
  }

  private void measure(String name, int threads, Duration time, Figures figures) {
    List<Latencies> latencies = Latencies.ofThreads(threads);
    Workers.Outcome outcome;
    try (Progress progress = Progress.ofTime(name, time, System.err)) {
      outcome =
          Workers.run(
              threads,
              time,
              (worker, running) -> {
                BooleanSupplier shown =
                    () -> {
                      if (worker == 0) {
                        progress.update();
                      }
                      return running.getAsBoolean();
                    };
                return read(worker, shown, latencies.get(worker));
              });
    }
    figures.rate(name, outcome.operations(), bytes.sum(), outcome.nanos());
    figures.rate(name + ", a CPU second", outcome.operations(), bytes.sum(), outcome.cpuNanos());
    figures.latencies(name, Latencies.sum(latencies));
    if (absent.sum() > 0) {
      figures.count(name + ", expired meanwhile", absent.sum());
    }
  }

  /** Reads until {@code running} is false; returns the number of reads. */
  private long read(int worker, BooleanSupplier running, Latencies latencies) {
    SplittableRandom random = new SplittableRandom(worker + 1);
    List<byte[]> keys = sample.keys();
    Value value = viaView ? new ViewedValue(store) : new CopiedValue(store);
    long count = 0;
    long missing = 0;
    while (running.getAsBoolean()) {
      for (int i = 0; i < ROUND; i++) {
        byte[] key = keys.get(random.nextInt(keys.size()));
        boolean found;
        if (i % TIMED == 0) {
          long start = System.nanoTime();
          found = value.read(key);
          latencies.add(System.nanoTime() - start);
        } else {
          found = value.read(key);
        }
        if (!found) {
          missing++;
        }
      }
      count += ROUND;
    }
    bytes.add(value.bytes);
    absent.add(missing);
    return count;
  }

  /** One way to read; for one thread. */
  private abstract static class Value {
    /** Of all values read. */
    long bytes;

    abstract boolean read(byte[] key);
  }

  private static final class CopiedValue extends Value {
    private final KvReader source;

    CopiedValue(KvReader source) {
      this.source = source;
    }

    @Override
    boolean read(byte[] key) {
      byte[] value = source.get(key);
      if (value == null) {
        return false;
      }
      bytes += value.length;
      return true;
    }
  }

  private static final class ViewedValue extends Value implements Function<ByteBuffer, Boolean> {
    private final KvReader source;

    ViewedValue(KvReader source) {
      this.source = source;
    }

    @Override
    boolean read(byte[] key) {
      return source.read(key, this) != null;
    }

    @Override
    public Boolean apply(ByteBuffer view) {
      bytes += view.remaining();
      return Boolean.TRUE;
    }
  }
}
