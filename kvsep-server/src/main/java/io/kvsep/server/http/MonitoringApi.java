package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.sun.management.OperatingSystemMXBean;
import io.kvsep.KvMetrics;
import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.json.JsonObject;
import io.kvsep.server.json.StoreFigures;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.jvm.ClassLoaderMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Monitoring: {@code /v1/stats}, {@code /metrics}, {@code /health}. */
final class MonitoringApi implements AutoCloseable {
  private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

  private final KvStore store;
  private final RequestMeter meter;
  private final AdmissionControl gate;
  private final IntSupplier connections;
  private final Problems problems;
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final JvmGcMetrics collections = new JvmGcMetrics();
  private final long startNanos = System.nanoTime();
  private final Map<String, Supplier<JsonObject>> parts = new ConcurrentSkipListMap<>();

  MonitoringApi(
      KvStore store,
      RequestMeter meter,
      AdmissionControl gate,
      IntSupplier connections,
      Problems problems) {
    this.store = store;
    this.meter = meter;
    this.gate = gate;
    this.connections = connections;
    this.problems = problems;
    // In nanoseconds; bind() registers it in seconds.
    registry.config().meterFilter(MeterFilter.denyNameStartsWith("process.cpu.time"));
    registry
        .config()
        .meterFilter(
            new MeterFilter() {
              @Override
              public Meter.Id map(Meter.Id id) {
                return described(id);
              }
            });
  }

  /**
   * Called after all kinds of requests are registered.
   *
   * @param node null on a server of one store
   */
  void bind(@Nullable ClusterNode node) {
    KvMetrics.bindTo(store, registry, Tags.empty());
    if (node != null) {
      ClusterMetrics.bind(node, registry);
      include("cluster", () -> ClusterApi.json(node.status()));
    }
    meter.bindTo(registry);
    Gauge.builder("kvsep.http.requests.open", gate, AdmissionControl::requests)
        .description("Requests under way")
        .register(registry);
    Gauge.builder("kvsep.http.feeds.open", gate, AdmissionControl::feeds)
        .description("Change feeds under way")
        .register(registry);
    Gauge.builder("kvsep.http.bodies", gate, AdmissionControl::bodyBytes)
        .description("Bodies of requests that are held, and what is made of them")
        .baseUnit("bytes")
        .register(registry);
    new JvmMemoryMetrics().bindTo(registry);
    collections.bindTo(registry);
    new JvmThreadMetrics().bindTo(registry);
    new ClassLoaderMetrics().bindTo(registry);
    new ProcessorMetrics().bindTo(registry);
    new FileDescriptorMetrics().bindTo(registry);
    new UptimeMetrics().bindTo(registry);
    if (ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system) {
      FunctionCounter.builder("process.cpu", system, any -> any.getProcessCpuTime() / 1e9)
          .description("Processor time of the process")
          .baseUnit("seconds")
          .register(registry);
    }
  }

  /**
   * Adds help text to Armeria's meters, which have none, and renames one to Prometheus conventions.
   */
  private static Meter.Id described(Meter.Id id) {
    if (id.getDescription() == null) {
      return new Meter.Id(
          id.getName(),
          Tags.of(id.getTagsAsIterable()),
          id.getBaseUnit(),
          "A meter of Armeria, the library that serves HTTP",
          id.getType());
    }
    return id.getName().equals("system.cpu.count") ? id.withName("system.cpus") : id;
  }

  /** Adds figures of another part of the server. */
  void include(String name, Supplier<JsonObject> figures) {
    parts.put(name, figures);
  }

  MeterRegistry registry() {
    return registry;
  }

  RequestMeter meter() {
    return meter;
  }

  HttpResponse stats(Exchange exchange) {
    JsonObject server =
        new JsonObject()
            .put("upMillis", (System.nanoTime() - startNanos) / 1_000_000)
            .put("openRequests", gate.requests())
            .put("openFeeds", gate.feeds())
            .put("connections", connections.getAsInt())
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

  /** Whether reads and writes can be expected to work; does no I/O. */
  HttpResponse health(Exchange exchange) {
    // The store also knows of syncs that failed in the background or for other listeners.
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
    collections.close();
    registry.close();
  }

  private static long heapBytes() {
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
