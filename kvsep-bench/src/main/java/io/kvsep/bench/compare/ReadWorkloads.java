package io.kvsep.bench.compare;

import io.kvsep.bench.Dataset;
import io.kvsep.bench.FailedMeasurementException;
import io.kvsep.bench.Latencies;
import io.kvsep.bench.Workers;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/** Random reads and scans of an unchanging store. Everything read is checked. */
final class ReadWorkloads {
  /** Reads that a thread takes from the shared count at a time. */
  private static final int ROUND = 64;

  /** One read in this many is timed: a look at the clock costs a tenth of a read. */
  private static final int TIMED = 8;

  private static final int PASSES_MIN = 3;
  private static final long COLD_NANOS = 1_000_000_000;

  private final ChildOptions options;
  private final Entries entries;
  private final Engine engine;
  private final ChildOutput output;

  private interface Read {
    void run(long ordinal);
  }

  private interface Reads {
    Read of(Engine.Reader reader);
  }

  ReadWorkloads(ChildOptions options, Entries entries, Engine engine, ChildOutput output) {
    this.options = options;
    this.entries = entries;
    this.engine = engine;
    this.output = output;
  }

  void gets(String name, int threads, long operations) {
    measure(name, threads, operations, reader -> checked(reader, reader::get));
  }

  void reusedGets(String name, int threads, long operations) {
    measure(name, threads, operations, reader -> checked(reader, reader::getReused));
  }

  void views(String name, int threads, long operations) {
    measure(name, threads, operations, this::viewed);
  }

  void misses(String name, int threads, long operations) {
    measure(name, threads, operations, this::missed);
  }

  /** Gets one entry, and more until a second after the start of the process. */
  void coldGets(long processStartNanos) {
    String name = Workload.COLD;
    SplittableRandom random = options.random(name, /* warming= */ false, 0);
    Latencies latencies = new Latencies();
    long now = System.nanoTime();
    try (Engine.Reader reader = engine.reader(/* changing= */ false)) {
      Read read = checked(reader, reader::get);
      do {
        long start = now;
        read.run(random.nextLong(entries.count()));
        now = System.nanoTime();
        if (latencies.count() == 0) {
          output.seconds(name, "first_get", now - processStartNanos);
        }
        latencies.add(now - start);
      } while (now - processStartNanos < COLD_NANOS);
    }
    output.rate(name, "rate", latencies.count(), now - processStartNanos);
    output.latencies(name, latencies);
  }

  private Read checked(Engine.Reader reader, Predicate<byte[]> get) {
    byte[] key = entries.newKey();
    return ordinal -> {
      entries.putKey(ordinal, key);
      if (!get.test(key) || !entries.matches(ordinal, reader.bytes, reader.length)) {
        throw WriteWorkloads.wrong(ordinal);
      }
    };
  }

  private Read viewed(Engine.Reader reader) {
    byte[] key = entries.newKey();
    ViewCheck check = new ViewCheck(entries);
    return ordinal -> {
      entries.putKey(ordinal, key);
      check.ordinal = ordinal;
      if (!reader.check(key, check)) {
        throw WriteWorkloads.wrong(ordinal);
      }
    };
  }

  private Read missed(Engine.Reader reader) {
    byte[] key = entries.newKey();
    return ordinal -> {
      entries.putAbsentKey(ordinal, key);
      if (reader.get(key)) {
        throw new FailedMeasurementException("a key was found that was never written");
      }
    };
  }

  private void measure(String name, int threads, long operations, Reads reads) {
    // The first run warms up code and caches.
    run(name, /* warming= */ true, operations, reads, Latencies.ofThreads(threads));
    List<Latencies> all = Latencies.ofThreads(threads);
    Workers.Outcome outcome = run(name, /* warming= */ false, operations, reads, all);
    output.rate(name, "rate", outcome.operations(), outcome.nanos());
    output.seconds(name, "seconds", outcome.nanos());
    output.latencies(name, Latencies.sum(all));
  }

  private Workers.Outcome run(
      String name, boolean warming, long operations, Reads reads, List<Latencies> all) {
    AtomicLong taken = new AtomicLong();
    return Workers.run(
        all.size(),
        options.time(),
        (worker, running) -> {
          SplittableRandom random = options.random(name, warming, worker);
          Latencies latencies = all.get(worker);
          long done = 0;
          try (Engine.Reader reader = engine.reader(/* changing= */ false)) {
            Read read = reads.of(reader);
            do {
              long from = taken.getAndAdd(ROUND);
              long count = Math.min(ROUND, operations - from);
              if (count <= 0) {
                break;
              }
              for (int i = 0; i < count; i++) {
                long ordinal = random.nextLong(entries.count());
                if (i % TIMED == 0) {
                  long start = System.nanoTime();
                  read.run(ordinal);
                  latencies.add(System.nanoTime() - start);
                } else {
                  read.run(ordinal);
                }
              }
              done += count;
              output.progress(name, from, operations);
            } while (running.getAsBoolean());
          }
          return done;
        });
  }

  /** Reads everything once: the system may have evicted pages from the file cache. */
  void walk(String name) {
    pass(name, /* keysOnly= */ false, entries.count());
  }

  void iterate(String name, boolean keysOnly) {
    long expected = Math.min(options.scanMax(), entries.count());
    double[] rates = new double[PASSES_MIN];
    int passes = 0;
    long start = System.nanoTime();
    while (passes < PASSES_MIN || System.nanoTime() - start < options.time().toNanos()) {
      long passStart = System.nanoTime();
      pass(name, keysOnly, expected);
      double rate = expected * 1e9 / Math.max(1, System.nanoTime() - passStart);
      if (passes == rates.length) {
        rates = Arrays.copyOf(rates, 2 * passes);
      }
      rates[passes++] = rate;
    }
    double[] sorted = Arrays.copyOf(rates, passes);
    Arrays.sort(sorted);
    output.result(name, "rate", sorted[passes / 2], "/s");
    output.seconds(name, "seconds", System.nanoTime() - start);
  }

  /** Ordinals ascend with the keys, so the position gives the entry. */
  private void pass(String name, boolean keysOnly, long expected) {
    byte[] key = new byte[Dataset.KEY_BYTES];
    byte[] value = new byte[entries.valueBytesMax()];
    try (Engine.Reader reader = engine.reader(/* changing= */ false);
        Engine.Cursor cursor = reader.cursor(/* from= */ null, keysOnly)) {
      for (long ordinal = 0; ordinal < expected; ordinal++) {
        // As cheap as in the Go program, because only the engines are to be measured.
        if (!cursor.next()
            || cursor.key(key) != Dataset.KEY_BYTES
            || key[Dataset.KEY_BYTES - 1] != '0' + ordinal % 10) {
          throw WriteWorkloads.wrong(ordinal);
        }
        if (!keysOnly && !entries.endsRight(ordinal, value, cursor.value(value))) {
          throw WriteWorkloads.wrong(ordinal);
        }
        if ((ordinal & 4095) == 0) {
          output.progress(name, ordinal, expected);
        }
      }
    }
  }
}
