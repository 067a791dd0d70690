package io.kvsep;

/**
 * One file of the value log, at one moment.
 *
 * @param file its name in the store's directory
 * @param bytes its length
 * @param liveBytes bytes of records in it that tables and memtables still point to; the rest is
 *     garbage, what leads to the records, and their frames
 * @param relocated whether reclaim, a flush or a bulk load wrote it, rather than the log
 * @param pinned whether it was replaced, and is kept for open cursors and calls under way alone
 */
public record SegmentStats(
    String file, long bytes, long liveBytes, boolean relocated, boolean pinned) {}
