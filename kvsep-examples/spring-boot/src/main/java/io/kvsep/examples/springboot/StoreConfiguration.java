package io.kvsep.examples.springboot;

import io.kvsep.Durability;
import io.kvsep.KvMetrics;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.nio.file.Path;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** One store for the whole service. */
@Configuration
class StoreConfiguration {
  /** Spring calls {@code close} after the web server has stopped. */
  @Bean
  KvStore store(@Value("${notes.directory}") Path directory) {
    return KvStore.open(directory, KvOptions.builder().durability(Durability.sync()).build());
  }

  /** Spring passes its registry, so the meters appear at {@code /actuator/prometheus}. */
  @Bean
  MeterBinder storeMeters(KvStore store) {
    return registry -> KvMetrics.bindTo(store, registry, Tags.of("store", "notes"));
  }

  /** {@code /actuator/health} is down when the store refuses writes until it is reopened. */
  @Bean
  HealthIndicator storeHealthIndicator(KvStore store) {
    return () -> (store.stats().failed() ? Health.down() : Health.up()).build();
  }
}
