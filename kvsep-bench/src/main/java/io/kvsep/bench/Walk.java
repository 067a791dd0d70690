package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * Scans of a store in key order, or in reverse. Keys and values are views.
 *
 * @param keysOnly whether {@code options} say so
 * @param limit entries after which each thread stops
 */
record Walk(KvStore store, ScanOptions options, boolean keysOnly, long limit) {
  /** Entries per latency sample: a look at the clock costs as much as an entry. */
  private static final int PIECE = 1000;

  /** Scans keys and values of all entries. */
  static Walk all(KvStore store) {
    return new Walk(store, ScanOptions.all(), /* keysOnly= */ false, Long.MAX_VALUE);
  }

  /** One scan on each thread, with its own cursor; ends early when the time is over. */
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

  private final class Pass {
    private final Latencies latencies;
    private long lastNanos = System.nanoTime();
    private long count;
    private long bytes;

    Pass(Latencies latencies) {
      this.latencies = latencies;
    }

    /** Scans some entries; returns whether there may be more. */
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
