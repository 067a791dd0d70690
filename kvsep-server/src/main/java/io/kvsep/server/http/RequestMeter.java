package io.kvsep.server.http;

import io.kvsep.server.json.JsonObject;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * How many requests of each kind there were and how long they took, from the request being there in
 * full to the beginning of its answer. Recording takes no lock and allocates nothing.
 */
final class RequestMeter {
  /** Bucket i counts what took less than 2^i microseconds and fits into no bucket before. */
  private static final int BUCKETS = 32;

  /** Of one kind of request. */
  static final class Kind {
    private final LongAdder count = new LongAdder();
    private final LongAdder nanos = new LongAdder();
    private final LongAdder refused = new LongAdder();
    private final AtomicLongArray buckets = new AtomicLongArray(BUCKETS);

    void record(long took) {
      count.increment();
      nanos.add(took);
      long micros = TimeUnit.NANOSECONDS.toMicros(took);
      buckets.incrementAndGet(Math.min(BUCKETS - 1, 64 - Long.numberOfLeadingZeros(micros)));
    }

    /** It was answered with a problem; counted besides {@link #record}. */
    void refuse() {
      refused.increment();
    }

    private JsonObject json() {
      int used = BUCKETS;
      while (used > 0 && buckets.get(used - 1) == 0) {
        used--;
      }
      long[] counts = new long[used];
      Arrays.setAll(counts, buckets::get);
      return new JsonObject()
          .put("count", count.sum())
          .put("nanos", nanos.sum())
          .put("problems", refused.sum())
          .putNumbers("microsBelowPowerOfTwo", counts);
    }
  }

  private final Map<String, Kind> kinds = new TreeMap<>();

  /** Only while the routes are made. */
  Kind kind(String name) {
    return kinds.computeIfAbsent(name, any -> new Kind());
  }

  void bindTo(MeterRegistry registry) {
    kinds.forEach(
        (name, kind) -> {
          FunctionTimer.builder(
                  "kvsep.http.requests",
                  kind,
                  any -> kind.count.sum(),
                  any -> kind.nanos.sum(),
                  TimeUnit.NANOSECONDS)
              .tag("operation", name)
              .register(registry);
          FunctionCounter.builder("kvsep.http.problems", kind, any -> kind.refused.sum())
              .tag("operation", name)
              .register(registry);
        });
  }

  JsonObject json() {
    JsonObject all = new JsonObject();
    kinds.forEach((name, kind) -> all.put(name, kind.json()));
    return all;
  }
}
