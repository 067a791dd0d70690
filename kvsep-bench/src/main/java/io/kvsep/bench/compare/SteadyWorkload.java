package io.kvsep.bench.compare;

import io.kvsep.bench.Latencies;
import io.kvsep.bench.Workers;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Overwrites at full speed for a while, by Zipf's law, beside a thread that reads by the same law.
 * Rates, latencies and disk space are reported for each ten seconds.
 */
final class SteadyWorkload {
  private static final String NAME = "steady";
  private static final long STEP_SECONDS = 10;

  private final ChildOptions options;
  private final Entries entries;
  private final Engine engine;
  private final ChildOutput output;
  private final Zipf zipf;
  private final int steps;
  private final long stepNanos;
  private final long startNanos = System.nanoTime();

  /** By step, each array written by one thread. */
  private final long[] written;

  private final List<Latencies> reads;
  private final long[] diskBytes;

  SteadyWorkload(ChildOptions options, Entries entries, Engine engine, ChildOutput output) {
    this.options = options;
    this.entries = entries;
    this.engine = engine;
    this.output = output;
    this.zipf = new Zipf(entries.count());
    this.steps = (int) Math.max(1, options.time().toSeconds() / STEP_SECONDS);
    this.stepNanos = options.time().toNanos() / steps;
    this.written = new long[steps];
    this.reads = Latencies.ofThreads(steps);
    this.diskBytes = new long[steps];
  }

  /**
   * @param liveRawBytes keys and values of the store
   */
  WriteWorkloads.Written run(long liveRawBytes) {
    WriteWorkloads.Written[] done = new WriteWorkloads.Written[1];
    Workers.Outcome outcome =
        Workers.run(
            3,
            options.time(),
            (worker, running) -> {
              switch (worker) {
                case 0 -> done[0] = write(running);
                case 1 -> read(running);
                default -> sampleDisk();
              }
              return 0;
            });
    report(done[0], outcome.nanos(), liveRawBytes);
    return done[0];
  }

  private int step() {
    return (int) Math.min(steps - 1, (System.nanoTime() - startNanos) / stepNanos);
  }

  private WriteWorkloads.Written write(BooleanSupplier running) {
    SplittableRandom random = options.random(NAME, /* warming= */ false, 0);
    Latencies latencies = new Latencies();
    WriteWorkloads workloads = new WriteWorkloads(options, entries, engine, output);
    try (Engine.Writer writer = engine.writer()) {
      WriteWorkloads.Batches batches = workloads.overwriting(writer, latencies);
      do {
        long before = batches.written;
        while (batches.written == before) {
          batches.add(entries.shuffled(zipf.rank(random.nextDouble())));
        }
        written[step()] += batches.written - before;
        output.progress(NAME, System.nanoTime() - startNanos, options.time().toNanos());
      } while (running.getAsBoolean());
      output.latencies(NAME, latencies);
      return new WriteWorkloads.Written(batches.written, batches.writtenBytes);
    }
  }

  private void read(BooleanSupplier running) {
    SplittableRandom random = options.random(NAME, /* warming= */ false, 1);
    byte[] key = entries.newKey();
    try (Engine.Reader reader = engine.reader(/* changing= */ true)) {
      do {
        long ordinal = entries.shuffled(zipf.rank(random.nextDouble()));
        entries.putKey(ordinal, key);
        long start = System.nanoTime();
        boolean found = reader.get(key);
        reads.get(step()).add(System.nanoTime() - start);
        if (!found || !entries.matches(ordinal, reader.bytes, reader.length)) {
          throw WriteWorkloads.wrong(ordinal);
        }
      } while (running.getAsBoolean());
    }
  }

  /** At the end of each step. */
  private void sampleDisk() {
    for (int step = 0; step < steps; step++) {
      long end = startNanos + (step + 1) * stepNanos;
      while (System.nanoTime() - end < 0 && !Thread.currentThread().isInterrupted()) {
        LockSupport.parkNanos(end - System.nanoTime());
      }
      diskBytes[step] = DiskSpace.allocatedBytes(options.directory());
    }
  }

  private void report(WriteWorkloads.Written done, long nanos, long liveRawBytes) {
    output.rate(NAME, "rate", done.entries(), nanos);
    output.rate(NAME, "rate_slowest", Arrays.stream(written).min().orElse(0), stepNanos);
    output.rate(NAME, "rate_last", written[steps - 1], stepNanos);
    Latencies all = Latencies.sum(reads);
    output.rate(NAME, "read_rate", all.count(), nanos);
    output.result(NAME, "read_p99.9", micros(all), "us");
    double slowest = reads.stream().mapToDouble(SteadyWorkload::micros).max().orElse(0);
    output.result(NAME, "read_p99.9_slowest", slowest, "us");
    double most = Arrays.stream(diskBytes).max().orElse(0);
    output.result(NAME, "disk_by_raw_most", most / liveRawBytes, "x");
    for (int step = 0; step < steps; step++) {
      // A whole number of seconds, except in tests.
      String at = "@" + Math.max(1, TimeUnit.NANOSECONDS.toSeconds((step + 1) * stepNanos));
      output.rate(NAME, "rate" + at, written[step], stepNanos);
      output.result(NAME, "read_p99.9" + at, micros(reads.get(step)), "us");
      output.result(NAME, "disk_by_raw" + at, (double) diskBytes[step] / liveRawBytes, "x");
    }
  }

  private static double micros(Latencies latencies) {
    return latencies.nanos(0.999) / 1e3;
  }
}
