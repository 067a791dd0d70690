package io.kvsep.internal.load;

import io.kvsep.internal.iterator.Payload;

/** What a bulk load takes its entries from, one after the other. */
public interface LoadSource {
  /** Goes to the next entry, first to the first one; false behind the last. */
  boolean next();

  /** The entry's key, as it is until the next call. */
  byte[] key();

  byte[] value();

  /** When it expires; {@link Payload#NEVER} where it does not. */
  long expiresAtMillis();
}
