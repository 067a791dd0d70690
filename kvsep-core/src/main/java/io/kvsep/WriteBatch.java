package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.write.BatchWrites;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Writes that are applied atomically: readers and recovery see all of them or none. Order is kept;
 * the last write of a key wins. Keys and values are copied. A batch holds up to 1 GiB of them, plus
 * 16 bytes per write; a write that does not fit throws {@link
 * io.kvsep.error.LimitExceededException} and leaves the batch unchanged.
 *
 * <p>Not thread safe. May be written more than once, and reused after {@link #clear}.
 */
public final class WriteBatch {
  private final BatchWrites buffer = new BatchWrites();
  private final Set<Keyspace> keyspaces = new HashSet<>();
  private int keyspace = Keyspaces.DEFAULT;

  /** Creates an empty batch. */
  public WriteBatch() {}

  /**
   * Directs later writes to {@code target}, until the next call of this or {@link #inDefault}.
   *
   * @param target the keyspace of later writes
   * @return this batch
   */
  public WriteBatch in(Keyspace target) {
    int id = Objects.requireNonNull(target, "keyspace").id();
    // May run out of memory, so it comes first: on failure the batch is unchanged.
    keyspaces.add(target);
    keyspace = id;
    return this;
  }

  /**
   * Directs later writes to the store's own keyspace, as in a new batch.
   *
   * @return this batch
   */
  public WriteBatch inDefault() {
    keyspace = Keyspaces.DEFAULT;
    return this;
  }

  /**
   * Sets {@code key} to {@code value}.
   *
   * @param key the key
   * @param value the value
   * @return this batch
   */
  public WriteBatch put(byte[] key, byte[] value) {
    buffer.put(
        keyspace, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"), 0);
    return this;
  }

  /**
   * As {@link #put(byte[], byte[])}; the time to live starts when the batch is written.
   *
   * @param key the key
   * @param value the value
   * @param timeToLive how long the entry exists
   * @return this batch
   */
  public WriteBatch put(byte[] key, byte[] value, Duration timeToLive) {
    buffer.put(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(value, "value"),
        TimeToLive.millis(timeToLive));
    return this;
  }

  /**
   * As {@link #put(byte[], byte[])}; the entry expires at a given time.
   *
   * @param expiresAtMillis milliseconds since the epoch, by the store's clock; must be positive
   * @param key the key
   * @param value the value
   * @return this batch
   */
  public WriteBatch putUntil(byte[] key, byte[] value, long expiresAtMillis) {
    buffer.put(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(value, "value"),
        TimeToLive.until(expiresAtMillis));
    return this;
  }

  /**
   * Removes {@code key}.
   *
   * @param key the key
   * @return this batch
   */
  public WriteBatch delete(byte[] key) {
    buffer.delete(keyspace, Objects.requireNonNull(key, "key"));
    return this;
  }

  /**
   * Removes every key from {@code from} to {@code to}, exclusive, as {@link KvWriter#deleteRange}
   * does; later writes in the batch are not affected.
   *
   * @param from the first key of the range
   * @param to the key after the range
   * @return this batch
   */
  public WriteBatch deleteRange(byte[] from, byte[] to) {
    buffer.deleteRange(
        keyspace, Objects.requireNonNull(from, "from"), Objects.requireNonNull(to, "to"));
    return this;
  }

  /** Receives the writes of a batch; see {@link #forEach}. The arrays are copies. */
  public interface Visitor {
    /**
     * Receives a put.
     *
     * @param keyspace null for the store's own
     * @param key the key
     * @param value the value
     */
    void put(@Nullable Keyspace keyspace, byte[] key, byte[] value);

    /**
     * Receives a put with a time to live.
     *
     * @param keyspace null for the store's own
     * @param key the key
     * @param value the value
     * @param timeToLive from the moment at which the batch is written
     */
    void put(@Nullable Keyspace keyspace, byte[] key, byte[] value, Duration timeToLive);

    /**
     * Receives a put with a time of expiry.
     *
     * @param keyspace null for the store's own
     * @param key the key
     * @param value the value
     * @param expiresAtMillis milliseconds since the epoch
     */
    void putUntil(@Nullable Keyspace keyspace, byte[] key, byte[] value, long expiresAtMillis);

    /**
     * Receives a delete.
     *
     * @param keyspace null for the store's own
     * @param key the key
     */
    void delete(@Nullable Keyspace keyspace, byte[] key);

    /**
     * Receives the deletion of a range that is not empty.
     *
     * @param keyspace null for the store's own
     * @param from the first key of the range
     * @param to the key after the range
     */
    void deleteRange(@Nullable Keyspace keyspace, byte[] from, byte[] to);
  }

  /**
   * Passes every write to {@code visitor}, in order, for programs that send batches elsewhere. The
   * visitor must not change the batch.
   *
   * @param visitor receives the writes
   */
  public void forEach(Visitor visitor) {
    Objects.requireNonNull(visitor, "visitor");
    Map<Integer, Keyspace> byId = new HashMap<>();
    keyspaces.forEach(used -> byId.put(used.id(), used));
    buffer.forEach(
        (kind, id, key, value, timeToLiveMillis) -> {
          Keyspace in = byId.get(id);
          if (kind == Tag.DELETE) {
            visitor.delete(in, key);
          } else if (kind == Tag.RANGE_DELETE) {
            visitor.deleteRange(in, key, value);
          } else if (timeToLiveMillis == 0) {
            visitor.put(in, key, value);
          } else if (timeToLiveMillis > 0) {
            visitor.put(in, key, value, Duration.ofMillis(timeToLiveMillis));
          } else {
            visitor.putUntil(in, key, value, -timeToLiveMillis);
          }
        });
  }

  /** {@return number of writes in the batch} */
  public int count() {
    return buffer.count();
  }

  /** {@return bytes of their keys and values} */
  public long bytes() {
    return buffer.payloadBytes();
  }

  /** Empties the batch; later writes go to the store's own keyspace. */
  public void clear() {
    buffer.clear();
    keyspaces.clear();
    keyspace = Keyspaces.DEFAULT;
  }

  /** The writes; throws if a keyspace of the batch belongs to another store. */
  BatchWrites bufferFor(StorageEngine engine) {
    for (Keyspace used : keyspaces) {
      used.idIn(engine);
    }
    // The commit leader refuses writes to a dropped keyspace, but never sees an empty range.
    for (Keyspace used : keyspaces) {
      engine.keyspaces().requirePresent(used.id());
    }
    return buffer;
  }
}
