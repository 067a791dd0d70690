package io.kvsep.server.meter;

import io.kvsep.server.json.JsonObject;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * How many operations of one kind there were and how long they took. Thread safe; recording takes
 * no lock, allocates nothing, and threads that record do not wait for one another's caches.
 */
public final class Timings {
  /** Bucket i counts what took less than 2^i microseconds and fits into no bucket before. */
  private static final int BUCKETS = 32;

  private final LongAdder nanos = new LongAdder();
  private final LongAdder[] buckets = new LongAdder[BUCKETS];

  public Timings() {
    Arrays.setAll(buckets, i -> new LongAdder());
  }

  /** So many operations, each of which took that long. */
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
    long[] counts = Arrays.stream(buckets).mapToLong(LongAdder::sum).toArray();
    int used = BUCKETS;
    while (used > 0 && counts[used - 1] == 0) {
      used--;
    }
    return new JsonObject()
        .put("count", Arrays.stream(counts).sum())
        .put("nanos", nanos.sum())
        .putNumbers("microsBelowPowerOfTwo", Arrays.copyOf(counts, used));
  }

  /** Publishes count and sum as a timer. */
  public void bindTo(MeterRegistry registry, String name, String operation) {
    FunctionTimer.builder(
            name, this, Timings::count, timings -> timings.nanos.sum(), TimeUnit.NANOSECONDS)
        .tag("operation", operation)
        .register(registry);
  }
}
