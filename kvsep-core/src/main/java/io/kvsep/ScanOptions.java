package io.kvsep;

import io.kvsep.internal.read.ScanBounds;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What a cursor walks over. Immutable; the refinements return a new object. */
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

  /** Every entry. */
  public static ScanOptions all() {
    return ALL;
  }

  /** Entries whose key begins with {@code prefix}; an empty prefix selects all. */
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

  /** Entries from {@code fromInclusive} up to before {@code toExclusive}; null is an open end. */
  public static ScanOptions range(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return new ScanOptions(
        fromInclusive == null ? null : fromInclusive.clone(),
        toExclusive == null ? null : toExclusive.clone(),
        false,
        false,
        Long.MAX_VALUE,
        ScanBounds.ADAPTIVE);
  }

  /** The same entries the other way round: in descending order, or ascending again. */
  public ScanOptions reverse() {
    return new ScanOptions(from, to, !reverse, keysOnly, limit, prefetch);
  }

  /** Keys without values: the value log is never touched, {@code value()} is refused. */
  public ScanOptions keysOnly() {
    return new ScanOptions(from, to, reverse, true, limit, prefetch);
  }

  /**
   * {@code next()} goes no further than this many entries, zero or more; then it is past the end,
   * and {@code previous()} steps back in. They are counted from where the walk begins, in the
   * cursor's order: from the first entry, from what a seek found, or from the last entry where
   * {@code previous()} is the first call. That end stays where it is until the next seek, whichever
   * way the cursor moves; {@code previous()} is bounded by the front only. With zero the cursor
   * shows nothing.
   */
  public ScanOptions limit(long entries) {
    if (entries < 0) {
      throw new IllegalArgumentException("limit is negative: " + entries);
    }
    return new ScanOptions(from, to, reverse, keysOnly, entries, prefetch);
  }

  /**
   * Reads the values of about this many entries ahead of the cursor, several at once; 0 never reads
   * ahead. Without it that is done as soon as values turn out not to be in memory, and costs
   * nothing as long as they are. Worth setting where most values of a scan are known to come from a
   * device that answers many reads at once, or where a short scan should not read more than it
   * needs. At most 4,096 are used.
   */
  public ScanOptions prefetch(int entries) {
    if (entries < 0) {
      throw new IllegalArgumentException("prefetch is negative: " + entries);
    }
    return new ScanOptions(from, to, reverse, keysOnly, limit, entries);
  }

  /** The same in one keyspace, as the engine has it. */
  ScanBounds bounds(int keyspace) {
    return new ScanBounds(keyspace, from, to, reverse, keysOnly, limit, prefetch);
  }

  /** The smallest key greater than every key that begins with {@code prefix}; null for none. */
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
