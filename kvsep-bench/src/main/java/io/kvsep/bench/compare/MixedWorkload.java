package io.kvsep.bench.compare;

import io.kvsep.bench.Dataset;
import io.kvsep.bench.Latencies;
import io.kvsep.bench.Workers;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Random mixes of gets and puts, one after another. What one inserts is among the entries of the
 * next.
 */
final class MixedWorkload {
  /** Entries of the longest scan. */
  private static final int SCAN_MAX = 100;

  private static final long INSERTS_MAX = 1 << 24;

  private final ChildOptions options;
  private final Entries entries;
  private final Engine engine;
  private final ChildOutput output;
  private final Zipf zipf;

  /** The order of what is inserted, which the threads take in turns. */
  private final Dataset insertOrder = new Dataset(INSERTS_MAX, 0);

  private final long firstInserted;

  /** Number of entries that each thread has inserted. */
  private final long[] inserted;

  MixedWorkload(ChildOptions options, Entries entries, Engine engine, ChildOutput output) {
    this.options = options;
    this.entries = entries;
    this.engine = engine;
    this.output = output;
    this.zipf = new Zipf(entries.count());
    this.firstInserted = new WriteWorkloads(options, entries, engine, output).unusedFrom();
    this.inserted = new long[options.threads()];
  }

  void run(Mix mix) {
    List<Latencies> all = Latencies.ofThreads(options.threads());
    Workers.Outcome outcome;
    try (SyncTimer timer = SyncTimer.of(engine, options.durability())) {
      // The first run warms up code and caches: earlier reads never had a memtable to search.
      run(mix, /* warming= */ true, Latencies.ofThreads(options.threads()));
      outcome = run(mix, /* warming= */ false, all);
    }
    output.rate(mix.name(), "rate", outcome.operations(), outcome.nanos());
    output.seconds(mix.name(), "seconds", outcome.nanos());
    output.latencies(mix.name(), Latencies.sum(all));
  }

  private Workers.Outcome run(Mix mix, boolean warming, List<Latencies> all) {
    long start = System.nanoTime();
    return Workers.run(
        options.threads(),
        options.time(),
        (worker, running) -> {
          SplittableRandom random = options.random(mix.name(), warming, worker);
          long done = 0;
          try (Engine.Reader reader = engine.reader(/* changing= */ true);
              Engine.Writer writer = engine.writer()) {
            Operations operations = new Operations(mix, worker, random, reader, writer);
            long last = System.nanoTime();
            do {
              operations.next();
              done++;
              long now = System.nanoTime();
              all.get(worker).add(now - last);
              last = now;
              if ((done & 63) == 0) {
                output.progress(mix.name(), now - start, options.time().toNanos());
              }
            } while (running.getAsBoolean());
          }
          return done;
        });
  }

  /** What one thread does. */
  private final class Operations {
    private final Mix mix;
    private final int thread;
    private final SplittableRandom random;
    private final Engine.Reader reader;
    private final Engine.Writer writer;
    private final byte[] key = entries.newKey();
    private final byte[] found = entries.newKey();
    private final byte[] value = new byte[entries.valueBytesMax()];
    private final Entries.Values values = entries.values();

    Operations(
        Mix mix, int thread, SplittableRandom random, Engine.Reader reader, Engine.Writer writer) {
      this.mix = mix;
      this.thread = thread;
      this.random = random;
      this.reader = reader;
      this.writer = writer;
    }

    void next() {
      int choice = random.nextInt(100);
      int inserts = mix.puts() + mix.inserts();
      int scans = inserts + mix.scans();
      if (choice < mix.puts()) {
        put(chosen());
      } else if (choice < inserts) {
        put(insertedOrdinal(inserted[thread]));
        inserted[thread]++;
      } else if (choice < scans) {
        scan(random.nextLong(1, SCAN_MAX + 1));
      } else {
        long ordinal = chosen();
        get(ordinal);
        if (choice < scans + mix.modifications()) {
          put(ordinal);
        }
      }
    }

    private long chosen() {
      if (mix.choice() == Mix.Choice.UNIFORM) {
        return random.nextLong(entries.count());
      }
      long rank = zipf.rank(random.nextDouble());
      if (mix.choice() == Mix.Choice.ZIPF) {
        return entries.shuffled(rank);
      }
      // The thread's own inserts from the last to the first, then those of the load.
      long mine = inserted[thread];
      return rank < mine
          ? insertedOrdinal(mine - 1 - rank)
          : entries.shuffled(entries.count() - 1 - (rank - mine));
    }

    private long insertedOrdinal(long index) {
      long turn = index * options.threads() + thread;
      return firstInserted + insertOrder.shuffled(turn % INSERTS_MAX);
    }

    private void put(long ordinal) {
      entries.putKey(ordinal, key);
      writer.put(key, values.of(ordinal));
    }

    private void get(long ordinal) {
      entries.putKey(ordinal, key);
      if (!reader.get(key) || !entries.matches(ordinal, reader.bytes, reader.length)) {
        throw WriteWorkloads.wrong(ordinal);
      }
    }

    private void scan(long length) {
      long start = chosen();
      long end = Math.min(entries.count(), start + length);
      entries.putKey(start, key);
      try (Engine.Cursor cursor = reader.cursor(key, /* keysOnly= */ false)) {
        for (long ordinal = start; ordinal < end; ordinal++) {
          if (!cursor.next()
              || cursor.key(found) != Dataset.KEY_BYTES
              || found[Dataset.KEY_BYTES - 1] != '0' + ordinal % 10
              || !entries.endsRight(ordinal, value, cursor.value(value))) {
            throw WriteWorkloads.wrong(ordinal);
          }
        }
      }
    }
  }
}
