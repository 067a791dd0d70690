package io.kvsep.internal.read;

import io.kvsep.internal.iterator.Payload;

/**
 * What is known of an entry without its value.
 *
 * @param sequence number of the write, 0 if uncommitted
 * @param expiresAtMillis {@link #NEVER} if it does not expire
 */
public record FoundEntry(long sequence, int valueLength, long expiresAtMillis) {
  public static final long NEVER = Payload.NEVER;
}
