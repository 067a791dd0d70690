package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import io.kvsep.KvMetrics;
import io.kvsep.KvStore;
import io.kvsep.server.json.JsonObject;
import io.kvsep.server.json.StoreFigures;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;

/** What an operator looks at: {@code /v1/stats}, {@code /metrics}, {@code /health}. */
final class Insight implements AutoCloseable {
  private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

  private final KvStore store;
  private final RequestMeter meter;
  private final Gate gate;
  private final Problems problems;
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final long startNanos = System.nanoTime();
  private final Map<String, Supplier<JsonObject>> parts = new ConcurrentSkipListMap<>();

  Insight(KvStore store, RequestMeter meter, Gate gate, Problems problems) {
    this.store = store;
    this.meter = meter;
    this.gate = gate;
    this.problems = problems;
  }

  /** Once all kinds of requests are known. */
  void bind() {
    KvMetrics.bindTo(store, registry, Tags.empty());
    meter.bindTo(registry);
    Gauge.builder("kvsep.http.requests.open", gate, Gate::requests).register(registry);
    Gauge.builder("kvsep.http.feeds.open", gate, Gate::feeds).register(registry);
    Gauge.builder("kvsep.http.bodies", gate, Gate::bodyBytes).baseUnit("bytes").register(registry);
  }

  /** Shows something else of the server, too. */
  void include(String name, Supplier<JsonObject> figures) {
    parts.put(name, figures);
  }

  MeterRegistry registry() {
    return registry;
  }

  HttpResponse stats(Exchange exchange) {
    JsonObject server =
        new JsonObject()
            .put("upMillis", (System.nanoTime() - startNanos) / 1_000_000)
            .put("openRequests", gate.requests())
            .put("openFeeds", gate.feeds())
            .put("bodyBytes", gate.bodyBytes())
            .put("heapBytes", heapBytes())
            .put("requests", meter.json());
    parts.forEach((name, figures) -> server.put(name, figures.get()));
    return Answers.json(
        StoreFigures.json(store.stats())
            .put("segments", StoreFigures.segments(store.segments()))
            .putNames("keyspaces", store.keyspaces())
            .put("server", server));
  }

  HttpResponse metrics(Exchange exchange) {
    return HttpResponse.of(
        ResponseHeaders.of(
            HttpStatus.OK,
            HttpHeaderNames.CONTENT_TYPE,
            PROMETHEUS,
            HttpHeaderNames.CACHE_CONTROL,
            "no-store"),
        HttpData.ofUtf8(registry.scrape(PROMETHEUS)));
  }

  /** Whether reading and writing are to be expected to work; asks nothing of the device. */
  HttpResponse health(Exchange exchange) {
    // The store also knows of what failed for nobody, or for clients of other listeners.
    boolean hasFailed = store.stats().failed();
    if (hasFailed || problems.storeFailed()) {
      throw Problem.of(
          HttpStatus.SERVICE_UNAVAILABLE,
          "store-failed",
          "a sync failed: the store only reads until it is opened again");
    }
    return Answers.json(new JsonObject().put("status", "up"));
  }

  @Override
  public void close() {
    registry.close();
  }

  private static long heapBytes() {
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
