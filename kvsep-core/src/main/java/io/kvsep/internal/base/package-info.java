/**
 * Shared value types and limits: the tag (sequence number and kind) of an entry, positions in the
 * log, keyspace prefixes. Owns no state and no memory; everything here is immutable or static.
 */
@NullMarked
package io.kvsep.internal.base;

import org.jspecify.annotations.NullMarked;
