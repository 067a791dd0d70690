package io.kvsep.bench;

import io.kvsep.Durability;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import java.nio.file.Path;

/**
 * A store for a benchmark in a temporary directory that is removed with it. Thread safe once
 * filled.
 */
final class LoadedStore implements AutoCloseable {
  private static final long RAW_BYTES_MAX = 256L << 20;
  private static final int BATCH_COUNT = 1000;

  final Dataset dataset;
  final KvStore store;
  private final Path directory = Directories.temporary();

  private LoadedStore(Dataset dataset) {
    this.dataset = dataset;
    this.store = KvStore.open(directory, KvOptions.builder().durability(Durability.none()).build());
  }

  /** An empty store; the data set only defines its keys and values. */
  static LoadedStore empty(int valueBytes) {
    return new LoadedStore(dataset(valueBytes));
  }

  /** A store with the whole data set, flushed and compacted. */
  static LoadedStore filled(int valueBytes) {
    LoadedStore loaded = new LoadedStore(dataset(valueBytes));
    Dataset dataset = loaded.dataset;
    byte[] key = dataset.newKey();
    byte[] value = new byte[valueBytes];
    WriteBatch batch = new WriteBatch();
    for (long index = 0; index < dataset.entryCount(); index++) {
      long ordinal = dataset.shuffled(index);
      dataset.putKey(ordinal, key);
      dataset.putValue(ordinal, value);
      batch.put(key, value);
      if (batch.count() == BATCH_COUNT) {
        loaded.store.write(batch);
        batch.clear();
      }
    }
    loaded.store.write(batch);
    loaded.store.compact();
    return loaded;
  }

  @Override
  public void close() {
    try {
      store.close();
    } finally {
      Directories.remove(directory);
    }
  }

  /** As many entries as fit the limit, at most a million. */
  private static Dataset dataset(int valueBytes) {
    long entries = Math.min(1_000_000, RAW_BYTES_MAX / (Dataset.KEY_BYTES + valueBytes));
    return new Dataset(entries, valueBytes);
  }
}
