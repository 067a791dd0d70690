package io.kvsep;

import java.time.Duration;

/**
 * Writing single entries, each atomic and durable as the store's {@link Durability} says.
 *
 * <p>On return the entry is visible to every reader. Arrays are copied; the caller may reuse them.
 * Errors: {@link io.kvsep.error.LimitExceededException} (nothing was written), {@link
 * io.kvsep.error.StorageException} (the device refused; nothing was written, the store goes on),
 * {@link io.kvsep.error.StoreFailedException} (a sync failed, now or earlier), {@link
 * io.kvsep.error.StoreClosedException}, {@link io.kvsep.error.ReadOnlyStoreException} (the store
 * was opened for reading only; a transaction hears of it from its commit). Thread safe; an
 * interrupt never harms a write, the flag stays set.
 */
public interface KvWriter {
  /** Sets {@code key} to {@code value}, 0 bytes to 1 GiB. */
  void put(byte[] key, byte[] value);

  /**
   * As {@link #put(byte[], byte[])}; the entry is absent from {@code timeToLive} after now on. Time
   * is kept in milliseconds; a zero or negative time to live is an {@link
   * IllegalArgumentException}.
   */
  void put(byte[] key, byte[] value, Duration timeToLive);

  /**
   * As {@link #put(byte[], byte[])}; the entry is absent from a moment on, which may have passed
   * already.
   *
   * @param expiresAtMillis milliseconds since the epoch, by the store's clock; must be positive
   */
  void putUntil(byte[] key, byte[] value, long expiresAtMillis);

  /**
   * As {@link #put(byte[], byte[])}.
   *
   * @return the version that the entry got, as {@link EntryInfo#version} tells it; 0 in a
   *     transaction, where the commit gives it one: {@link Transaction#version}
   */
  long putVersioned(byte[] key, byte[] value);

  /**
   * As {@link #put(byte[], byte[], Duration)}.
   *
   * @return as {@link #putVersioned(byte[], byte[])}
   */
  long putVersioned(byte[] key, byte[] value, Duration timeToLive);

  /** Removes {@code key}; deleting what is not there is no error. */
  void delete(byte[] key);

  /**
   * Removes every key from {@code fromInclusive} up to and without {@code toExclusive}, as one
   * atomic write that takes the same time whatever it covers: reads pass over the range from then
   * on, snapshots made before go on seeing it, and its space comes back as tables are flushed and
   * compacted, and files of the value log reclaimed. Bounds may be empty (the first key there can
   * be) and up to 65,535 bytes long; where the first is not below the second, nothing is deleted.
   */
  void deleteRange(byte[] fromInclusive, byte[] toExclusive);

  /**
   * Adds {@code delta} to the counter under {@code key}, atomic against every other write, and
   * returns what it is then. A counter is a signed 64-bit number of 8 bytes, big-endian; an absent
   * key counts as 0. It is a put as any other: a time to live that the key had is gone.
   *
   * @throws IllegalArgumentException when the value of the key is not 8 bytes long; nothing was
   *     written
   * @throws ArithmeticException when the sum does not fit into 64 bits; nothing was written
   */
  long increment(byte[] key, long delta);
}
