package io.kvsep.internal.read;

import io.kvsep.internal.iterator.Payload;

/**
 * An entry as far as it is known without its value.
 *
 * @param sequence number of the write, 0 for one that is not committed
 * @param expiresAtMillis {@link #NEVER} when it does not expire
 */
public record FoundEntry(long sequence, int valueLength, long expiresAtMillis) {
  public static final long NEVER = Payload.NEVER;
}
