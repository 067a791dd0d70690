package io.kvsep.internal.read;

/**
 * Estimated size of a range of keys; nothing is negative.
 *
 * @param entries number of entries
 * @param keyBytes bytes of their user keys
 * @param indexBytes bytes in memtables and tables: keys, and values beside them, as stored
 * @param logBytes bytes of their records in the log
 */
public record RangeSize(long entries, long keyBytes, long indexBytes, long logBytes) {
  static RangeSize of(double entries, double keyBytes, double indexBytes, double logBytes) {
    return new RangeSize(
        rounded(entries), rounded(keyBytes), rounded(indexBytes), rounded(logBytes));
  }

  private static long rounded(double value) {
    return Math.max(0, Math.round(value));
  }

  /** Bytes in memtables, tables and the log. */
  public long bytes() {
    return indexBytes + logBytes;
  }

  public RangeSize plus(long moreEntries, long moreKeyBytes, long moreIndexBytes) {
    return new RangeSize(
        Math.max(0, entries + moreEntries),
        Math.max(0, keyBytes + moreKeyBytes),
        indexBytes + moreIndexBytes,
        logBytes);
  }
}
