package io.kvsep;

import io.kvsep.internal.read.ScanBounds;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What a cursor iterates over. Immutable; every refinement returns a new object. */
public final class ScanOptions {
  private static final ScanOptions ALL =
      new ScanOptions(null, null, false, false, Long.MAX_VALUE, ScanBounds.ADAPTIVE);

  private final byte @Nullable [] from;
  private final byte @Nullable [] to;
  private final boolean reverse;
  private final boolean keysOnly;
  private final long limit;
  private final int prefetch;

  private ScanOptions(
      byte @Nullable [] from,
      byte @Nullable [] to,
      boolean reverse,
      boolean keysOnly,
      long limit,
      int prefetch) {
    this.from = from;
    this.to = to;
    this.reverse = reverse;
    this.keysOnly = keysOnly;
    this.limit = limit;
    this.prefetch = prefetch;
  }

  /** {@return options for every entry} */
  public static ScanOptions all() {
    return ALL;
  }

  /**
   * {@return options for entries whose key begins with {@code prefix}; an empty prefix selects all}
   *
   * @param prefix the first bytes of the keys
   */
  public static ScanOptions prefix(byte[] prefix) {
    Objects.requireNonNull(prefix, "prefix");
    return new ScanOptions(
        prefix.length == 0 ? null : prefix.clone(),
        firstKeyAfter(prefix),
        false,
        false,
        Long.MAX_VALUE,
        ScanBounds.ADAPTIVE);
  }

  /**
   * {@return options for entries of a range}
   *
   * @param fromInclusive the first key, null for an open end
   * @param toExclusive the key after the last, null for an open end
   */
  public static ScanOptions range(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return new ScanOptions(
        fromInclusive == null ? null : fromInclusive.clone(),
        toExclusive == null ? null : toExclusive.clone(),
        false,
        false,
        Long.MAX_VALUE,
        ScanBounds.ADAPTIVE);
  }

  /** {@return the same entries in the opposite order} */
  public ScanOptions reverse() {
    return new ScanOptions(from, to, !reverse, keysOnly, limit, prefetch);
  }

  /** {@return the same without values: the value log is not read, and {@code value()} throws} */
  public ScanOptions keysOnly() {
    return new ScanOptions(from, to, reverse, true, limit, prefetch);
  }

  /**
   * Limits {@code next()} to this many entries, zero or more; after them the cursor is past the
   * end, and {@code previous()} steps back in. Entries are counted in cursor order from the start
   * of the iteration: the first entry, the result of a seek, or the last entry if {@code
   * previous()} is the first call. This end is fixed until the next seek, whichever way the cursor
   * moves; {@code previous()} is bounded only by the front. With zero the cursor is empty.
   *
   * @param entries the highest number of entries
   * @return options with this limit
   */
  public ScanOptions limit(long entries) {
    if (entries < 0) {
      throw new IllegalArgumentException("limit is negative: " + entries);
    }
    return new ScanOptions(from, to, reverse, keysOnly, entries, prefetch);
  }

  /**
   * Reads the values of about this many entries ahead of the cursor, several at once; 0 disables
   * read-ahead. By default read-ahead starts when values are found not to be in memory, and costs
   * nothing while they are. Set it if most values of a scan come from a device that serves many
   * reads in parallel, or if a short scan must not read more than it needs. At most 4,096 are used.
   *
   * @param entries how many values to read ahead
   * @return options with this read-ahead
   */
  public ScanOptions prefetch(int entries) {
    if (entries < 0) {
      throw new IllegalArgumentException("prefetch is negative: " + entries);
    }
    return new ScanOptions(from, to, reverse, keysOnly, limit, entries);
  }

  /** {@return a copy of the first key of the range, null for an open end} */
  public byte @Nullable [] from() {
    return from == null ? null : from.clone();
  }

  /** {@return a copy of the key after the range, null for an open end} */
  public byte @Nullable [] to() {
    return to == null ? null : to.clone();
  }

  /** {@return whether the order is descending} */
  public boolean isReverse() {
    return reverse;
  }

  /** {@return whether values are never read} */
  public boolean isKeysOnly() {
    return keysOnly;
  }

  /** {@return the limit of entries, {@link Long#MAX_VALUE} for none} */
  public long limit() {
    return limit;
  }

  ScanBounds bounds(int keyspace) {
    return new ScanBounds(keyspace, from, to, reverse, keysOnly, limit, prefetch);
  }

  /** The smallest key greater than every key that begins with {@code prefix}; null if none. */
  private static byte @Nullable [] firstKeyAfter(byte[] prefix) {
    for (int i = prefix.length - 1; i >= 0; i--) {
      if (prefix[i] != (byte) 0xff) {
        byte[] after = Arrays.copyOf(prefix, i + 1);
        after[i]++;
        return after;
      }
    }
    return null;
  }
}
