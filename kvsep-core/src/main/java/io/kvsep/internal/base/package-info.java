/**
 * Shared value types and bit rules: limits, the tag (sequence number and kind) of an entry,
 * positions in the log. Owns no state and no memory; everything here is immutable or static.
 */
@NullMarked
package io.kvsep.internal.base;

import org.jspecify.annotations.NullMarked;
