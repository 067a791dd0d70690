package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.write.WriteBuffer;
import java.time.Duration;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;

/**
 * Writes that are applied together: seen and recovered whole or not at all. The order is kept, the
 * last write of a key wins. Keys and values are copied; up to 1 GiB of them fit, where each write
 * counts 16 bytes more; one that does not is refused with {@link
 * io.kvsep.error.LimitExceededException} and leaves the batch as it was.
 *
 * <p>Not thread safe. May be written more than once, and used again after {@link #clear}.
 */
public final class WriteBatch {
  private final WriteBuffer buffer = new WriteBuffer();
  private final Set<Keyspace> keyspaces = new HashSet<>();
  private int keyspace = Keyspaces.DEFAULT;

  /** What follows goes to {@code target}, until another call of this or {@link #inDefault}. */
  public WriteBatch in(Keyspace target) {
    int id = Objects.requireNonNull(target, "keyspace").id();
    // First what needs memory: without any, the batch stays as it was.
    keyspaces.add(target);
    keyspace = id;
    return this;
  }

  /** What follows goes to the keyspace of the store itself, as in a new batch. */
  public WriteBatch inDefault() {
    keyspace = Keyspaces.DEFAULT;
    return this;
  }

  /** Sets {@code key} to {@code value}. */
  public WriteBatch put(byte[] key, byte[] value) {
    buffer.put(
        keyspace, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"), 0);
    return this;
  }

  /**
   * As {@link #put(byte[], byte[])}; the time to live counts from the moment the batch is written.
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
   * As {@link #put(byte[], byte[])}; the entry is absent from a moment on.
   *
   * @param expiresAtMillis milliseconds since the epoch, by the store's clock; must be positive
   */
  public WriteBatch putUntil(byte[] key, byte[] value, long expiresAtMillis) {
    buffer.put(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(value, "value"),
        TimeToLive.until(expiresAtMillis));
    return this;
  }

  /** Removes {@code key}. */
  public WriteBatch delete(byte[] key) {
    buffer.delete(keyspace, Objects.requireNonNull(key, "key"));
    return this;
  }

  /**
   * Removes every key from {@code from} up to and without {@code to}, as {@link
   * KvWriter#deleteRange} does; writes that follow in the batch are not affected.
   */
  public WriteBatch deleteRange(byte[] from, byte[] to) {
    buffer.deleteRange(
        keyspace, Objects.requireNonNull(from, "from"), Objects.requireNonNull(to, "to"));
    return this;
  }

  /** Writes in the batch. */
  public int count() {
    return buffer.count();
  }

  /** Bytes of their keys and values. */
  public long bytes() {
    return buffer.payloadBytes();
  }

  /** Empties the batch; what follows goes to the keyspace of the store itself. */
  public void clear() {
    buffer.clear();
    keyspaces.clear();
    keyspace = Keyspaces.DEFAULT;
  }

  /** The writes, for the store that all keyspaces in here belong to. */
  WriteBuffer bufferFor(StorageEngine engine) {
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
