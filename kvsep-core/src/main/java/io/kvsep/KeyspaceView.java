package io.kvsep;

import io.kvsep.error.StorageException;
import java.util.Iterator;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes one keyspace of a store, at its latest state; see {@link KvStore#in}. The store
 * itself is the view of its own keyspace. Thread safe. Costs nothing to create and needs no
 * closing. Once the keyspace is dropped, every call throws {@link IllegalStateException}.
 */
public interface KeyspaceView extends KvView {
  /**
   * Sets {@code key} to {@code value} if its current value is {@code expected}; null means absent.
   * Returns whether the value was set. Atomic with respect to all other writes. The entry does not
   * expire.
   *
   * @param key the key
   * @param expected the value that the key must have, null for none
   * @param value the value
   * @return whether the value was set
   */
  boolean compareAndSet(byte[] key, byte @Nullable [] expected, byte[] value);

  /**
   * Deletes {@code key} if its value is {@code expected}. Returns whether it was deleted.
   *
   * @param key the key
   * @param expected the value that the key must have
   * @return whether the key was deleted
   */
  boolean compareAndDelete(byte[] key, byte[] expected);

  /**
   * Adds many entries atomically: all of them or, on any failure, none; durable on return. Bypasses
   * log and memtable, which is several times as fast as writing batches, and the result needs no
   * compaction soon.
   *
   * <p>Keys in ascending order (as unsigned bytes) are written directly to their final place. Other
   * keys are first sorted, in memory of half a memtable and on disk; that costs some speed, and
   * values of more than 16 KiB stay in input order. Of equal keys the last one wins.
   *
   * <p>All entries become visible at one point at the end of the call. They replace everything
   * written before, also during the call. Reads and writes continue; at the end writers wait until
   * the latest writes are flushed and synced. Earlier snapshots, cursors and transactions do not
   * see the entries; a transaction that has read one of the keys conflicts. Loads run one at a
   * time; others wait.
   *
   * <p>The calling thread calls the iterator, and not again once it has ended; another thread
   * writes concurrently. The iterator may read and write this store, but not close it. Memory does
   * not grow with the number of entries, except for some bytes per 32 MiB of tables and per segment
   * of values.
   *
   * @param entries the entries to load, {@link ExpiringEntry} for those that expire. Their arrays
   *     must not change until the next entry is requested. If the iterator throws, the call fails
   *     and nothing is loaded
   * @return the number of entries passed in
   * @throws io.kvsep.error.LimitExceededException if a key or value is too long, or a key is empty
   * @throws StorageException if a device operation failed; nothing is loaded
   * @throws io.kvsep.error.StoreFailedException if a sync failed, now or earlier. If it was a sync
   *     of the manifest, only reopening shows whether everything or nothing is loaded
   * @throws io.kvsep.error.StoreClosedException if the store is closed, also during the call
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   * @throws IllegalStateException if called from the iterator of another load, or if the keyspace
   *     is dropped, before or during the call
   */
  long bulkLoad(Iterator<? extends Map.Entry<byte[], byte[]>> entries);

  /**
   * As {@link #bulkLoad(Iterator)}; closes the stream at the end.
   *
   * @param entries the entries
   * @return as {@link #bulkLoad(Iterator)}
   */
  default long bulkLoad(Stream<? extends Map.Entry<byte[], byte[]>> entries) {
    try (entries) {
      return bulkLoad(entries.iterator());
    }
  }
}
