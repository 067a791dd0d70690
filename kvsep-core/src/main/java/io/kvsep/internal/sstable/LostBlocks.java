package io.kvsep.internal.sstable;

import org.jspecify.annotations.Nullable;

/**
 * Consecutive damaged blocks of a table.
 *
 * @param above inclusive lower bound of their keys; null if unknown
 * @param below inclusive upper bound of their keys; null if unknown
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
public record LostBlocks(long from, long to, byte @Nullable [] above, byte @Nullable [] below) {}
