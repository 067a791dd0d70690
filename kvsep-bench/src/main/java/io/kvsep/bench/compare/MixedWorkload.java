package io.kvsep.bench.compare;

import io.kvsep.bench.Latencies;
import io.kvsep.bench.Workers;
import java.util.List;
import java.util.SplittableRandom;

/** Random mix of nine gets and one put, on random entries. */
final class MixedWorkload {
  private static final int PUTS_OF_TEN = 1;

  private final ChildOptions options;
  private final Entries entries;
  private final Engine engine;
  private final ChildOutput output;

  MixedWorkload(ChildOptions options, Entries entries, Engine engine, ChildOutput output) {
    this.options = options;
    this.entries = entries;
    this.engine = engine;
    this.output = output;
  }

  void run() {
    List<Latencies> all = Latencies.ofThreads(options.threads());
    Workers.Outcome outcome;
    try (SyncTimer timer = SyncTimer.of(engine, options.durability())) {
      // The first run warms up code and caches: earlier reads never had a memtable to search.
      run(/* warming= */ true, Latencies.ofThreads(options.threads()));
      outcome = run(/* warming= */ false, all);
    }
    output.rate("mixed", "rate", outcome.operations(), outcome.nanos());
    output.seconds("mixed", "seconds", outcome.nanos());
    output.latencies("mixed", Latencies.sum(all));
  }

  private Workers.Outcome run(boolean warming, List<Latencies> all) {
    long start = System.nanoTime();
    return Workers.run(
        options.threads(),
        options.time(),
        (worker, running) -> {
          SplittableRandom random = options.random("mixed", warming, worker);
          byte[] key = entries.newKey();
          Entries.Values values = entries.values();
          long done = 0;
          try (Engine.Reader reader = engine.reader(/* changing= */ true);
              Engine.Writer writer = engine.writer()) {
            long last = System.nanoTime();
            do {
              long ordinal = random.nextLong(entries.count());
              entries.putKey(ordinal, key);
              if (random.nextInt(10) < PUTS_OF_TEN) {
                writer.put(key, values.of(ordinal));
              } else if (!reader.get(key)
                  || !entries.matches(ordinal, reader.bytes, reader.length)) {
                throw WriteWorkloads.wrong(ordinal);
              }
              done++;
              long now = System.nanoTime();
              all.get(worker).add(now - last);
              last = now;
              if ((done & 63) == 0) {
                output.progress("mixed", now - start, options.time().toNanos());
              }
            } while (running.getAsBoolean());
          }
          return done;
        });
  }
}
