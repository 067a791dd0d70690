package io.kvsep;

import java.time.Duration;

/**
 * Writes of single entries. Each is atomic, and durable according to the store's {@link
 * Durability}.
 *
 * <p>On return the entry is visible to every reader. Arrays are copied; the caller may reuse them.
 * Errors: {@link io.kvsep.error.LimitExceededException} (nothing was written), {@link
 * io.kvsep.error.StorageException} (a device operation failed; nothing was written, the store stays
 * usable), {@link io.kvsep.error.StoreFailedException} (the store has failed), {@link
 * io.kvsep.error.StoreClosedException}, {@link io.kvsep.error.ReadOnlyStoreException} (the store is
 * read-only; a transaction throws it only from its commit). Thread safe. Interrupts do not abort a
 * write; the interrupt status is preserved.
 */
public interface KvWriter {
  /**
   * Sets {@code key} to {@code value}, 0 bytes to 1 GiB.
   *
   * @param key the key
   * @param value the value
   */
  void put(byte[] key, byte[] value);

  /**
   * As {@link #put(byte[], byte[])}; the entry expires after {@code timeToLive}. The resolution is
   * one millisecond; a zero or negative time to live throws {@link IllegalArgumentException}.
   *
   * @param key the key
   * @param value the value
   * @param timeToLive how long the entry exists
   */
  void put(byte[] key, byte[] value, Duration timeToLive);

  /**
   * As {@link #put(byte[], byte[])}; the entry expires at a given time, which may be in the past.
   *
   * @param expiresAtMillis milliseconds since the epoch, by the store's clock; must be positive
   * @param key the key
   * @param value the value
   */
  void putUntil(byte[] key, byte[] value, long expiresAtMillis);

  /**
   * As {@link #put(byte[], byte[])}.
   *
   * @param key the key
   * @param value the value
   * @return the version of the entry, see {@link EntryInfo#version}; 0 in a transaction, where the
   *     commit assigns it: {@link Transaction#version}
   */
  long putVersioned(byte[] key, byte[] value);

  /**
   * As {@link #put(byte[], byte[], Duration)}.
   *
   * @param key the key
   * @param value the value
   * @param timeToLive how long the entry exists
   * @return as {@link #putVersioned(byte[], byte[])}
   */
  long putVersioned(byte[] key, byte[] value, Duration timeToLive);

  /**
   * Removes {@code key}; an absent key is not an error.
   *
   * @param key the key
   */
  void delete(byte[] key);

  /**
   * Removes every key from {@code fromInclusive} to {@code toExclusive} in one atomic write. Its
   * cost does not depend on the number of keys: later reads skip the range, earlier snapshots still
   * see it, and its space is freed as tables are flushed and compacted and value-log files are
   * reclaimed. Bounds may be empty (the smallest possible key) and up to 65,535 bytes long. If the
   * first is not below the second, nothing is deleted.
   *
   * @param fromInclusive the first key of the range
   * @param toExclusive the key after the range
   */
  void deleteRange(byte[] fromInclusive, byte[] toExclusive);

  /**
   * Adds {@code delta} to the counter at {@code key}, atomic with respect to all other writes, and
   * returns the new value. A counter is a signed 64-bit number, 8 bytes big-endian; an absent key
   * counts as 0. Like any put, it removes the time to live of the key.
   *
   * @param key the key
   * @param delta what is added
   * @return the new value
   * @throws IllegalArgumentException if the value of the key is not 8 bytes long; nothing was
   *     written
   * @throws ArithmeticException if the sum does not fit into 64 bits; nothing was written
   */
  long increment(byte[] key, long delta);
}
