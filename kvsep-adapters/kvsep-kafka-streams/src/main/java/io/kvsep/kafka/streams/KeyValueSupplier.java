package io.kvsep.kafka.streams;

import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;

/** Supplies key-value stores. */
class KeyValueSupplier implements KeyValueBytesStoreSupplier {
  private final String name;
  private final DslStoreFormat format;

  private KeyValueSupplier(String name, DslStoreFormat format) {
    this.name = Objects.requireNonNull(name, "name");
    this.format = format;
  }

  static KeyValueSupplier of(String name, DslStoreFormat format) {
    return format == DslStoreFormat.HEADERS
        ? new WithHeaders(name)
        : new KeyValueSupplier(name, format);
  }

  /** Kafka tells stores with headers by the type of their supplier. */
  private static final class WithHeaders extends KeyValueSupplier
      implements HeadersBytesStoreSupplier {
    WithHeaders(String name) {
      super(name, DslStoreFormat.HEADERS);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public KeyValueStore<Bytes, byte[]> get() {
    return switch (format) {
      case PLAIN -> new KvsepKeyValueStore(name);
      case TIMESTAMPED -> new KvsepKeyValueStore.Timestamped(name);
      case HEADERS -> new KvsepKeyValueStore.WithHeaders(name);
    };
  }

  @Override
  public String metricsScope() {
    return "kvsep";
  }
}
