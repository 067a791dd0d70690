package io.kvsep.internal.version;

import io.kvsep.internal.sstable.TableMeta;

/**
 * Estimates when enough of a table has expired to be worth compacting, from the first and last
 * expiry; the others are assumed to be evenly spread.
 *
 * <p>The time is never before the first expiry, so a compaction then or later drops something, and
 * what remains expires after it. With an uneven spread it may drop little. The next time is then at
 * least a quarter of the way from that compaction to the last expiry, and at least {@link
 * #STEP_MILLIS} away unless it is the last expiry: a table whose entries live for a year is
 * rewritten some fifty times at most.
 */
final class ExpiryEstimate {
  /** Too little ever expires. */
  static final long NEVER = Long.MAX_VALUE;

  /** One in four of the entries that are not tombstones. */
  private static final int ENTRIES_PER_EXPIRED = 4;

  /** What expires within this time is dropped together. */
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
    // From the end: neither the sum nor rounding exceeds it.
    return Math.max(first + STEP_MILLIS, last - (long) ((1 - part) * (last - first)));
  }
}
