package io.kvsep;

/**
 * One file of the value log at one point in time.
 *
 * @param file its name in the store's directory
 * @param bytes its length
 * @param liveBytes bytes of its records to which tables and memtables still point; the rest is
 *     garbage, indexes and frame overhead
 * @param relocated whether reclaim, a flush or a bulk load wrote it, rather than the log
 * @param pinned whether it was replaced and is kept only for open cursors and running calls
 */
public record SegmentStats(
    String file, long bytes, long liveBytes, boolean relocated, boolean pinned) {}
