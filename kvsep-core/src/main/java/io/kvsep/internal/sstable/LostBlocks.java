package io.kvsep.internal.sstable;

import org.jspecify.annotations.Nullable;

/**
 * Neighbouring blocks of a table that do not hold.
 *
 * @param from offset of the first of them
 * @param to offset behind the last of them
 * @param above keys that were in them are not below this one; null when nothing is known
 * @param below and not above this one; null when nothing is known
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record LostBlocks(long from, long to, byte @Nullable [] above, byte @Nullable [] below) {}
