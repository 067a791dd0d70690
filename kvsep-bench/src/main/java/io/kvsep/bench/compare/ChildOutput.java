package io.kvsep.bench.compare;

import io.kvsep.bench.Latencies;
import java.io.PrintStream;
import java.util.Locale;

/** Output of a child, line by line; see docs/internals/bench-protocol.md. Thread safe. */
final class ChildOutput {
  private static final long PROGRESS_NANOS = 100_000_000;

  private final PrintStream target;
  private long saidNanos = System.nanoTime() - PROGRESS_NANOS;

  ChildOutput(PrintStream target) {
    this.target = target;
  }

  synchronized void engine(String name, Engine engine) {
    say("engine name=%s version=%s settings=%s", name, engine.version(), engine.settings());
  }

  synchronized void progress(String workload, long done, long total) {
    long now = System.nanoTime();
    if (now - saidNanos >= PROGRESS_NANOS) {
      saidNanos = now;
      say("progress workload=%s done=%d total=%d", workload, Math.min(done, total), total);
    }
  }

  synchronized void result(String workload, String metric, double value, String unit) {
    // All digits: an engine may open within a millisecond.
    say("result workload=%s metric=%s value=%s unit=%s", workload, metric, value, unit);
  }

  void rate(String workload, String metric, long operations, long nanos) {
    result(workload, metric, operations * 1e9 / Math.max(1, nanos), "/s");
  }

  void seconds(String workload, String metric, long nanos) {
    result(workload, metric, nanos / 1e9, "s");
  }

  void latencies(String workload, Latencies latencies) {
    if (latencies.count() > 0) {
      result(workload, "p50", latencies.nanos(0.50) / 1e3, "us");
      result(workload, "p99", latencies.nanos(0.99) / 1e3, "us");
      result(workload, "p99.9", latencies.nanos(0.999) / 1e3, "us");
      result(workload, "longest", latencies.longestNanos() / 1e3, "us");
    }
  }

  synchronized void failed(String workload, String reason) {
    say("failed workload=%s reason=%s", workload, reason.replaceAll("\\s+", " "));
  }

  private void say(String format, Object... values) {
    target.println(String.format(Locale.ROOT, format, values));
    target.flush();
  }
}
