package io.kvsep.server.meter;

import io.kvsep.server.json.JsonObject;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Count and duration of operations of one kind. Thread safe; recording is lock-free, allocates
 * nothing, and does not contend between threads.
 */
public final class Timings {
  /** Bucket i counts durations below 2^i microseconds that fit into no earlier bucket. */
  private static final int BUCKETS = 32;

  private final LongAdder nanos = new LongAdder();
  private final LongAdder[] buckets = new LongAdder[BUCKETS];

  public Timings() {
    Arrays.setAll(buckets, i -> new LongAdder());
  }

  /** Records operations that each took the given time. */
  public void record(long operations, long tookNanos) {
    nanos.add(operations * tookNanos);
    long micros = TimeUnit.NANOSECONDS.toMicros(tookNanos);
    buckets[Math.min(BUCKETS - 1, 64 - Long.numberOfLeadingZeros(micros))].add(operations);
  }

  public long count() {
    return Arrays.stream(buckets).mapToLong(LongAdder::sum).sum();
  }

  /** The figures of {@code /v1/stats}. */
  public JsonObject json() {
    long[] counts = buckets();
    int used = BUCKETS;
    while (used > 0 && counts[used - 1] == 0) {
      used--;
    }
    return new JsonObject()
        .put("count", Arrays.stream(counts).sum())
        .put("nanos", nanos.sum())
        .putNumbers("microsBelowPowerOfTwo", Arrays.copyOf(counts, used));
  }

  /** Counts by bucket: durations below 2^i microseconds that fit into no earlier bucket. */
  long[] buckets() {
    return Arrays.stream(buckets).mapToLong(LongAdder::sum).toArray();
  }

  long nanos() {
    return nanos.sum();
  }

  /**
   * Publishes kinds of operations as one meter: a histogram for Prometheus, otherwise a timer with
   * count and sum.
   *
   * @param operations by tag value
   */
  public static void bindTo(
      MeterRegistry registry, String name, String description, Map<String, Timings> operations) {
    if (registry instanceof PrometheusMeterRegistry prometheus) {
      prometheus
          .getPrometheusRegistry()
          .register(new LatencyHistogram(name, description, operations));
      return;
    }
    operations.forEach(
        (operation, timings) ->
            FunctionTimer.builder(
                    name, timings, Timings::count, Timings::nanos, TimeUnit.NANOSECONDS)
                .description(description)
                .tag("operation", operation)
                .register(registry));
  }
}
