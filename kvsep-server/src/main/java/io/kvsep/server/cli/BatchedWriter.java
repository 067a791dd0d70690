package io.kvsep.server.cli;

import io.kvsep.Keyspace;
import io.kvsep.KvStore;
import io.kvsep.KvWriter;
import io.kvsep.WriteBatch;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Collects small writes into batches, which cost far less than single writes; writes long values
 * directly. Keeps the order. Entries are written when {@link #flush} returns.
 */
final class BatchedWriter {
  private static final long BATCH_BYTES = 1 << 20;
  private static final int BATCH_COUNT = 1000;

  private final KvStore store;
  private final @Nullable Keyspace keyspace;
  private final @Nullable Duration timeToLive;
  private final WriteBatch batch = new WriteBatch();

  BatchedWriter(KvStore store) {
    this(store, null, null);
  }

  /**
   * @param keyspace null for the store's own
   * @param timeToLive of what is put, null for none
   */
  BatchedWriter(KvStore store, @Nullable Keyspace keyspace, @Nullable Duration timeToLive) {
    this.store = store;
    this.keyspace = keyspace;
    this.timeToLive = timeToLive;
    begin();
  }

  private void begin() {
    batch.clear();
    if (keyspace != null) {
      batch.in(keyspace);
    }
  }

  void put(byte[] key, byte[] value) {
    if (value.length >= BATCH_BYTES) {
      flush();
      putAlone(key, value);
      return;
    }
    if (timeToLive == null) {
      batch.put(key, value);
    } else {
      batch.put(key, value, timeToLive);
    }
    flushIfFull();
  }

  private void putAlone(byte[] key, byte[] value) {
    KvWriter target = keyspace == null ? store : store.in(keyspace);
    if (timeToLive == null) {
      target.put(key, value);
    } else {
      target.put(key, value, timeToLive);
    }
  }

  void delete(byte[] key) {
    batch.delete(key);
    flushIfFull();
  }

  void flush() {
    if (batch.count() > 0) {
      store.write(batch);
      begin();
    }
  }

  private void flushIfFull() {
    if (batch.bytes() >= BATCH_BYTES || batch.count() >= BATCH_COUNT) {
      flush();
    }
  }
}
