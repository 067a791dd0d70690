package io.kvsep.internal.load;

import io.kvsep.internal.iterator.Payload;

/** The entries of a bulk load. */
public interface LoadSource {
  /**
   * Keyspace of the current entry.
   *
   * @param ofLoad that of the load
   */
  default int keyspace(int ofLoad) {
    return ofLoad;
  }

  /** Whether the current entry deletes its key; it then has an empty value. */
  default boolean isDelete() {
    return false;
  }

  /** Moves to the next entry, initially to the first; returns false after the last. */
  boolean next();

  /** Valid until the next call. */
  byte[] key();

  byte[] value();

  /** {@link Payload#NEVER} if it does not expire. */
  long expiresAtMillis();
}
