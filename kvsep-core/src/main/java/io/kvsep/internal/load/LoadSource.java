package io.kvsep.internal.load;

import io.kvsep.internal.iterator.Payload;

/** The entries of a bulk load. */
public interface LoadSource {
  /**
   * The keyspace of the current entry.
   *
   * @param ofLoad the keyspace into which the load was asked to go
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

  /** The key of the current entry, valid until the next call. */
  byte[] key();

  byte[] value();

  /** When it expires; {@link Payload#NEVER} if never. */
  long expiresAtMillis();
}
