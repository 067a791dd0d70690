package io.kvsep;

import java.util.OptionalLong;

/**
 * Properties of an entry that are known without reading its value.
 *
 * @param version grows with every write of the key and is unique to one write in the store.
 *     Exceptions: entries of one bulk load may share a version; it is 0 for an uncommitted write of
 *     the reading transaction; a write that a crash revoked because it was not synced may have its
 *     version reused after reopening; copies of a store may assign equal versions after the copy
 *     was made
 * @param valueLength length of the value in bytes
 * @param expiresAtMillis when the entry expires, in milliseconds since the epoch; empty if never
 */
public record EntryInfo(long version, int valueLength, OptionalLong expiresAtMillis) {}
