package io.kvsep.internal.version;

import io.kvsep.internal.sstable.TableMeta;

/**
 * From when on so much of a table has expired that it is worth compacting. Only the first and the
 * last expiry are known, so the others are taken to lie evenly between them.
 *
 * <p>The moment is never before the first expiry. So a compaction at that moment or later drops
 * something, and what it leaves behind expires later than it ran. Where the others do not lie
 * evenly it may drop little. The next moment then is a quarter of the way from that compaction to
 * the last expiry, or farther, and at least {@link #STEP_MILLIS} away unless it is the last expiry
 * itself: a table whose entries live for a year is rewritten some fifty times at the very most.
 */
final class ExpiryEstimate {
  /** For a table of which too little ever expires. */
  static final long NEVER = Long.MAX_VALUE;

  /** One in four of the entries that are not tombstones. */
  private static final int ENTRIES_PER_EXPIRED = 4;

  /** What expires within seconds is dropped together. */
  private static final long STEP_MILLIS = 10_000;

  private ExpiryEstimate() {}

  /** Milliseconds since the epoch. */
  static long dueMillis(TableMeta meta) {
    long holding = Math.max(1, meta.entryCount() - meta.tombstoneCount());
    long needed = (holding - 1) / ENTRIES_PER_EXPIRED + 1;
    long expiring = meta.expiringCount();
    if (expiring < needed) {
      return NEVER;
    }
    long first = meta.expiresAtMillisMin();
    long last = meta.expiresAtMillisMax();
    if (last - first <= STEP_MILLIS) {
      return last;
    }
    double part = expiring == 1 ? 1 : (needed - 1) / (expiring - 1.0);
    // From the end, so that neither sum nor rounding gets beyond it.
    return Math.max(first + STEP_MILLIS, last - (long) ((1 - part) * (last - first)));
  }
}
