package io.kvsep.server.cli;

import io.kvsep.KvStore;
import io.kvsep.WriteBatch;

/**
 * Collects small writes into batches, which cost far less than single writes; writes long values
 * directly. Keeps the order. Entries are written when {@link #flush} returns.
 */
final class BatchedWriter {
  private static final long BATCH_BYTES = 1 << 20;
  private static final int BATCH_COUNT = 1000;

  private final KvStore store;
  private final WriteBatch batch = new WriteBatch();

  BatchedWriter(KvStore store) {
    this.store = store;
  }

  void put(byte[] key, byte[] value) {
    if (value.length >= BATCH_BYTES) {
      flush();
      store.put(key, value);
    } else {
      batch.put(key, value);
      flushIfFull();
    }
  }

  void delete(byte[] key) {
    batch.delete(key);
    flushIfFull();
  }

  void flush() {
    if (batch.count() > 0) {
      store.write(batch);
      batch.clear();
    }
  }

  private void flushIfFull() {
    if (batch.bytes() >= BATCH_BYTES || batch.count() >= BATCH_COUNT) {
      flush();
    }
  }
}
