package io.kvsep.kafka.streams;

import java.util.Objects;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.internals.VersionedKeyValueToBytesStoreAdapter;

/** Supplies versioned stores, through Kafka's internal adapter. */
record VersionedSupplier(String name, long historyRetentionMs, long segmentMillis)
    implements VersionedBytesStoreSupplier {
  VersionedSupplier {
    Objects.requireNonNull(name, "name");
    if (segmentMillis < 1) {
      throw new IllegalArgumentException("segmentInterval cannot be zero or negative");
    }
  }

  @Override
  public KeyValueStore<Bytes, byte[]> get() {
    return new VersionedKeyValueToBytesStoreAdapter(
        new KvsepVersionedStore(name, historyRetentionMs, segmentMillis));
  }

  @Override
  public String metricsScope() {
    return "kvsep";
  }
}
