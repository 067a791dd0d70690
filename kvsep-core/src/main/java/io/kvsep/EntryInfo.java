package io.kvsep;

import java.util.OptionalLong;

/**
 * What is known of an entry without reading its value.
 *
 * @param version grows with every write of the key, whatever the value, and belongs to no other
 *     write in the store, but that entries of one bulk load may share theirs; 0 for what a
 *     transaction wrote itself and has not committed. What a crash takes back, because it was not
 *     synced, may have its version again when the store is opened the next time; so may what two
 *     copies of a store write after they were made
 * @param valueLength bytes of the value
 * @param expiresAtMillis when the entry expires, in milliseconds since the epoch; empty when never
 */
public record EntryInfo(long version, int valueLength, OptionalLong expiresAtMillis) {}
