package io.kvsep.server.http;

import io.kvsep.server.json.JsonObject;
import io.kvsep.server.meter.Timings;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts and times requests of each kind, from the complete request to the beginning of its answer.
 * Recording takes no lock and allocates nothing.
 */
final class RequestMeter {
  static final class Kind {
    private final Timings timings = new Timings();
    private final LongAdder refused = new LongAdder();

    void record(long took) {
      timings.record(1, took);
    }

    /** Counts an answer with a problem, in addition to {@link #record}. */
    void refuse() {
      refused.increment();
    }
  }

  private final Map<String, Kind> kinds = new TreeMap<>();

  /** Not thread safe; called only while the routes are built. */
  Kind kind(String name) {
    return kinds.computeIfAbsent(name, any -> new Kind());
  }

  void bindTo(MeterRegistry registry) {
    Map<String, Timings> timings = new TreeMap<>();
    kinds.forEach(
        (name, kind) -> {
          timings.put(name, kind.timings);
          FunctionCounter.builder("kvsep.http.problems", kind, any -> kind.refused.sum())
              .description("Requests that were answered with a problem")
              .tag("operation", name)
              .register(registry);
        });
    Timings.bindTo(
        registry,
        "kvsep.http.requests",
        "Requests, from being there in full to the beginning of the answer",
        timings);
  }

  JsonObject json() {
    JsonObject all = new JsonObject();
    kinds.forEach(
        (name, kind) -> all.put(name, kind.timings.json().put("problems", kind.refused.sum())));
    return all;
  }
}
