package io.kvsep.internal.load;

import io.kvsep.internal.iterator.Payload;

/** The entries of a bulk load. */
public interface LoadSource {
  /** Moves to the next entry, initially to the first; returns false after the last. */
  boolean next();

  /** The key of the current entry, valid until the next call. */
  byte[] key();

  byte[] value();

  /** When it expires; {@link Payload#NEVER} if never. */
  long expiresAtMillis();
}
