package io.kvsep.bench.compare;

import io.kvsep.bench.Dataset;
import io.kvsep.bench.FailedMeasurementException;
import io.kvsep.bench.Latencies;
import io.kvsep.bench.Workers;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Loading, single puts and overwriting. */
final class WriteWorkloads {
  private static final int OVERWRITE_BATCH = 100;
  private static final long BATCH_BYTES_MAX = 32 << 20;

  /** Number of ordinals for synced puts. */
  private static final long SYNCED_MAX = 1 << 20;

  /**
   * Multiple of the other workloads' duration after which an engine that is too slow is stopped.
   */
  private static final long PATIENCE = 12;

  private final ChildOptions options;
  private final Entries entries;
  private final Engine engine;
  private final ChildOutput output;

  record Written(long entries, long rawBytes) {}

  WriteWorkloads(ChildOptions options, Entries entries, Engine engine, ChildOutput output) {
    this.options = options;
    this.entries = entries;
    this.engine = engine;
    this.output = output;
  }

  /** Writes all entries. The time ends with the last batch; a sync running then is not awaited. */
  void load() {
    Latencies latencies = new Latencies();
    long start = System.nanoTime();
    try (Engine.Writer writer = engine.writer()) {
      Batches batches = new Batches(writer, options.batch(), latencies);
      for (long index = 0; index < entries.count(); index++) {
        batches.add(entries.shuffled(index));
        if ((index & 255) == 0) {
          output.progress("load", index, entries.count());
        }
      }
      batches.end();
      output.rate("load", "until_written", batches.written, System.nanoTime() - start);
    }
    output.latencies("load", latencies);
  }

  /** Puts new keys one by one; the first ones only warm up. */
  Written single() {
    long warmUp = warmUpSingles();
    long total = warmUp + measuredSingles();
    Dataset order = new Dataset(total, 0);
    Latencies latencies = new Latencies();
    byte[] key = entries.newKey();
    Entries.Values values = entries.values();
    long start = System.nanoTime();
    long last = start;
    long done = 0;
    long measured = 0;
    long rawBytes = 0;
    try (Engine.Writer writer = engine.writer()) {
      while (done < total && last - start < nanosMax()) {
        long ordinal = entries.count() + order.shuffled(done);
        entries.putKey(ordinal, key);
        writer.put(key, values.of(ordinal));
        done++;
        rawBytes += key.length + entries.valueBytes(ordinal);
        long now = System.nanoTime();
        if (done > warmUp) {
          latencies.add(now - last);
          measured++;
        } else if (done == warmUp || now - start >= nanosMax()) {
          warmUp = done;
          start = now;
        }
        last = now;
        if ((done & 15) == 0) {
          output.progress("single", done, total);
        }
      }
    }
    output.rate("single", "rate", measured, last - start);
    output.seconds("single", "seconds", last - start);
    output.latencies("single", latencies);
    return new Written(done, rawBytes);
  }

  private long warmUpSingles() {
    return Math.max(1, entries.count() / 10);
  }

  private long measuredSingles() {
    return Math.max(1, entries.count() / 2);
  }

  /** Puts new keys, each durable before the next. */
  Written singleSync(int threads) {
    Dataset order = new Dataset(SYNCED_MAX, 0);
    long first = entries.count() + warmUpSingles() + measuredSingles();
    AtomicLong next = new AtomicLong();
    LongAdder rawBytes = new LongAdder();
    List<Latencies> all = Latencies.ofThreads(threads);
    Workers.Outcome outcome =
        Workers.run(
            threads,
            options.time(),
            (worker, running) -> {
              byte[] key = entries.newKey();
              Entries.Values values = entries.values();
              long done = 0;
              try (Engine.Writer writer = engine.writer()) {
                long last = System.nanoTime();
                do {
                  long index = next.getAndIncrement();
                  if (index >= SYNCED_MAX) {
                    break;
                  }
                  long ordinal = first + order.shuffled(index);
                  entries.putKey(ordinal, key);
                  writer.put(key, values.of(ordinal));
                  done++;
                  rawBytes.add(key.length + entries.valueBytes(ordinal));
                  long now = System.nanoTime();
                  all.get(worker).add(now - last);
                  last = now;
                  output.progress("single_sync", index, SYNCED_MAX);
                } while (running.getAsBoolean());
              }
              return done;
            });
    output.rate("single_sync", "rate", outcome.operations(), outcome.nanos());
    output.seconds("single_sync", "seconds", outcome.nanos());
    output.latencies("single_sync", Latencies.sum(all));
    return new Written(outcome.operations(), rawBytes.sum());
  }

  /** The first ordinal that neither {@link #single} nor {@link #singleSync} puts. */
  long unusedFrom() {
    return entries.count() + warmUpSingles() + measuredSingles() + SYNCED_MAX;
  }

  /** Writes as many random entries as there are. The time ends as in {@link #load}. */
  Written overwrite() {
    Latencies latencies = new Latencies();
    SplittableRandom random = options.random("overwrite", /* warming= */ false, 0);
    long start = System.nanoTime();
    try (Engine.Writer writer = engine.writer()) {
      Batches batches = overwriting(writer, latencies);
      while (batches.written < entries.count() && System.nanoTime() - start < nanosMax()) {
        batches.add(random.nextLong(entries.count()));
        if ((batches.written & 255) == 0) {
          output.progress("overwrite", batches.written, entries.count());
        }
      }
      batches.end();
      output.rate("overwrite", "rate", batches.written, System.nanoTime() - start);
      output.latencies("overwrite", latencies);
      return new Written(batches.written, batches.writtenBytes);
    }
  }

  Batches overwriting(Engine.Writer writer, Latencies latencies) {
    return new Batches(writer, OVERWRITE_BATCH, latencies);
  }

  private long nanosMax() {
    return PATIENCE * options.time().toNanos();
  }

  /** Batches of a number of entries, or of bytes if these are long. Not thread safe. */
  final class Batches {
    private final Engine.Writer writer;
    private final int countMax;
    private final Latencies latencies;
    private final byte[] key;
    private final Entries.Values values;
    private int count;
    private long bytes;
    private long startNanos;
    long written;
    long writtenBytes;

    Batches(Engine.Writer writer, int countMax, Latencies latencies) {
      this.writer = writer;
      this.countMax = countMax;
      this.latencies = latencies;
      key = entries.newKey();
      values = entries.values();
    }

    void add(long ordinal) {
      if (count == 0) {
        startNanos = System.nanoTime();
      }
      entries.putKey(ordinal, key);
      byte[] value = values.of(ordinal);
      writer.add(key, value);
      count++;
      bytes += key.length + value.length;
      if (count == countMax || bytes >= BATCH_BYTES_MAX) {
        end();
      }
    }

    void end() {
      if (count == 0) {
        return;
      }
      writer.commit();
      latencies.add(System.nanoTime() - startNanos);
      written += count;
      writtenBytes += bytes;
      count = 0;
      bytes = 0;
    }
  }

  /** Used by checks of reads; names the wrong entry. */
  static FailedMeasurementException wrong(long ordinal) {
    return new FailedMeasurementException("entry " + ordinal + " is missing or has another value");
  }
}
