package org.apache.kafka.streams.state;

import io.kvsep.kafka.streams.KvsepStoreSuppliers;

/**
 * Stands before the class of this name in Kafka's jar, so that Kafka's own tests, which take the
 * default stores, run on kvsep.
 */
public class BuiltInDslStoreSuppliers {
  public static final DslStoreSuppliers ROCKS_DB = new RocksDBDslStoreSuppliers();
  public static final DslStoreSuppliers IN_MEMORY = new InMemoryDslStoreSuppliers();

  private BuiltInDslStoreSuppliers() {}

  /** Not RocksDB: kvsep. */
  public static class RocksDBDslStoreSuppliers implements DslStoreSuppliers {
    private final DslStoreSuppliers kvsep = new KvsepStoreSuppliers();

    @Override
    public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
      return kvsep.keyValueStore(params);
    }

    @Override
    public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
      return kvsep.windowStore(params);
    }

    @Override
    public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
      return kvsep.sessionStore(params);
    }
  }

  /** As in Kafka. */
  public static class InMemoryDslStoreSuppliers implements DslStoreSuppliers {
    @Override
    public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
      return Stores.inMemoryKeyValueStore(params.name());
    }

    @Override
    public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
      return Stores.inMemoryWindowStore(
          params.name(), params.retentionPeriod(), params.windowSize(), params.retainDuplicates());
    }

    @Override
    public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
      return Stores.inMemorySessionStore(params.name(), params.retentionPeriod());
    }
  }
}
