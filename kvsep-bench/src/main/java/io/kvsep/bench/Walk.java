package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * Walks of a store in the order of its keys, or against it. Keys and values are views.
 *
 * @param keysOnly whether {@code options} say so
 * @param limit entries after which each thread stops
 */
record Walk(KvStore store, ScanOptions options, boolean keysOnly, long limit) {
  /** One latency is that of so many entries: a look at the clock costs as much as an entry. */
  private static final int PIECE = 1000;

  /** Keys and values of all entries. */
  static Walk all(KvStore store) {
    return new Walk(store, ScanOptions.all(), /* keysOnly= */ false, Long.MAX_VALUE);
  }

  /** One walk of each thread, with a cursor of its own; it ends early when the time is up. */
  void measure(String name, int threads, Duration time, Figures figures) {
    List<Latencies> latencies = Latencies.ofThreads(threads);
    LongAdder bytes = new LongAdder();
    long expected = Math.min(limit, store.stats().entriesEstimate());
    Workers.Outcome outcome;
    try (Progress progress = new Progress(name, expected, System.err)) {
      outcome =
          Workers.run(
              threads,
              time,
              (worker, running) -> {
                Pass pass = new Pass(latencies.get(worker));
                try (KvCursor cursor = store.cursor(options)) {
                  do {
                    if (worker == 0) {
                      progress.update(pass.count);
                    }
                  } while (pass.piece(cursor) && running.getAsBoolean());
                }
                bytes.add(pass.bytes);
                return pass.count;
              });
    }
    figures.count(name + ", entries", outcome.operations());
    figures.rate(name, outcome.operations(), bytes.sum(), outcome.nanos());
    figures.rate(name + ", a CPU second", outcome.operations(), bytes.sum(), outcome.cpuNanos());
    figures.latencies(name + ", " + PIECE + " entries", Latencies.sum(latencies));
  }

  /** The walk of one thread. */
  private final class Pass {
    private final Latencies latencies;
    private long lastNanos = System.nanoTime();
    private long count;
    private long bytes;

    Pass(Latencies latencies) {
      this.latencies = latencies;
    }

    /** Some entries; whether there may be more. */
    boolean piece(KvCursor cursor) {
      long wanted = Math.min(PIECE, limit - count);
      long pieceBytes = 0;
      int found = 0;
      while (found < wanted && cursor.next()) {
        found++;
        pieceBytes += cursor.keyView().remaining();
        if (!keysOnly) {
          pieceBytes += cursor.valueView().remaining();
        }
      }
      count += found;
      bytes += pieceBytes;
      if (found < PIECE) {
        return false;
      }
      long now = System.nanoTime();
      latencies.add(now - lastNanos);
      lastNanos = now;
      return count < limit;
    }
  }
}
