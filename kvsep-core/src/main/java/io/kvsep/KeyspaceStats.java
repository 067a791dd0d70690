package io.kvsep;

/**
 * Estimated size of a keyspace, with the errors of {@link KvReader#approximateCount}: entries that
 * were replaced, deleted or have expired count until compaction has dropped them.
 *
 * @param entriesEstimate number of entries
 * @param keyBytes bytes of their keys
 * @param valueBytes bytes of their values as stored: compressed where that pays, and with about
 *     thirty bytes and the key beside each value in the log
 */
public record KeyspaceStats(long entriesEstimate, long keyBytes, long valueBytes) {}
