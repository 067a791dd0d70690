package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvMetrics;
import io.kvsep.KvStore;
import io.micrometer.core.instrument.Tags;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.nio.file.Path;

/**
 * The meters of a store as Prometheus reads them. A service answers {@code GET /metrics} with the
 * result of {@code scrape}; any other registry of Micrometer serves as well.
 */
public final class PrometheusScrape {
  private PrometheusScrape() {}

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "metrics-data");
    try (KvStore store = KvStore.open(directory)) {
      PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
      KvMetrics.bindTo(store, registry, Tags.of("store", "orders"));
      for (int i = 0; i < 3; i++) {
        store.put(("order/" + i).getBytes(UTF_8), "tea".getBytes(UTF_8));
      }
      System.out.print(registry.scrape());
    }
  }
}
