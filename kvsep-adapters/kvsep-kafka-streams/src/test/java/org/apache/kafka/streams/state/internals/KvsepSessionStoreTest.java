package org.apache.kafka.streams.state.internals;

import io.kvsep.kafka.streams.KvsepStores;
import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;

/** Kafka's tests of session stores. */
class KvsepSessionStoreTest extends AbstractSessionBytesStoreTest {
  @Override
  <K, V> SessionStore<K, V> buildSessionStore(
      long retentionPeriod, Serde<K> keySerde, Serde<V> valueSerde) {
    return Stores.sessionStoreBuilder(
            KvsepStores.persistentSessionStore("sessions", Duration.ofMillis(retentionPeriod)),
            keySerde,
            valueSerde)
        .build();
  }

  /** Tells the tests that segments expire as a whole, and that ranges of times can be read. */
  @Override
  StoreType storeType() {
    return StoreType.RocksDBTimeOrderedSessionStoreWithIndex;
  }
}
