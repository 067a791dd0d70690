package io.kvsep.internal.sstable;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/**
 * Facts about a finished table, as the manifest keeps them. Immutable; the key arrays are shared
 * and must not be written to.
 *
 * @param number file number, from which the name follows
 * @param fileBytes length of the file
 * @param smallestKey first stored key, inclusive, of entries and deleted ranges alike
 * @param largestKey last stored key, inclusive, of entries and deleted ranges alike; where the end
 *     of a range has no key just before it, that end itself
 * @param smallestSequence lowest sequence number of any entry or deleted range
 * @param largestSequence highest sequence number of any entry or deleted range
 * @param entryCount entries, every version and tombstone counted
 * @param tombstoneCount entries that are deletes
 * @param hiddenCount entries behind a newer one of the same key in this table, kept for whoever
 *     read at a moment between the two
 * @param rangeCount deleted ranges, counted as fragments
 * @param keyBytes sum of the key lengths of all entries
 * @param expiringCount entries that expire at some time
 * @param expiresAtMillisMin the first of their expiries, 0 when none expires
 * @param expiresAtMillisMax the last of their expiries, 0 when none expires
 * @param segments what the table references in the value log, ascending by segment
 */
@SuppressWarnings("ArrayRecordComponent") // equality is by content, see equals
public record TableMeta(
    long number,
    long fileBytes,
    byte[] smallestKey,
    byte[] largestKey,
    long smallestSequence,
    long largestSequence,
    long entryCount,
    long tombstoneCount,
    long hiddenCount,
    long rangeCount,
    long keyBytes,
    long expiringCount,
    long expiresAtMillisMin,
    long expiresAtMillisMax,
    List<SegmentUse> segments) {

  /**
   * What the pointers of one table reference in one segment.
   *
   * @param segment logical segment id
   * @param liveBytes sum of the lengths of the referenced records
   * @param records how many records are referenced
   */
  public record SegmentUse(long segment, long liveBytes, long records) {}

  public TableMeta {
    segments = List.copyOf(segments);
  }

  /** Whether an entry has expired at a time. */
  public boolean hasExpired(long nowMillis) {
    return expiringCount > 0 && expiresAtMillisMin <= nowMillis;
  }

  /**
   * Whether a table that says {@code found} of itself is the one that this says is there. What an
   * earlier build did not count is not compared.
   */
  public boolean describes(TableMeta found) {
    return sameButHidden(found) && (hiddenCount == 0 || hiddenCount == found.hiddenCount);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TableMeta that
        && sameButHidden(that)
        && hiddenCount == that.hiddenCount;
  }

  private boolean sameButHidden(TableMeta that) {
    return number == that.number
        && fileBytes == that.fileBytes
        && Arrays.equals(smallestKey, that.smallestKey)
        && Arrays.equals(largestKey, that.largestKey)
        && smallestSequence == that.smallestSequence
        && largestSequence == that.largestSequence
        && entryCount == that.entryCount
        && tombstoneCount == that.tombstoneCount
        && rangeCount == that.rangeCount
        && keyBytes == that.keyBytes
        && expiringCount == that.expiringCount
        && expiresAtMillisMin == that.expiresAtMillisMin
        && expiresAtMillisMax == that.expiresAtMillisMax
        && segments.equals(that.segments);
  }

  /** By number: no two tables of a store share one. */
  @Override
  public int hashCode() {
    return Long.hashCode(number);
  }

  @Override
  public String toString() {
    HexFormat hex = HexFormat.of();
    return "table "
        + number
        + " ["
        + hex.formatHex(smallestKey)
        + " .. "
        + hex.formatHex(largestKey)
        + "], "
        + entryCount
        + " entries, "
        + fileBytes
        + " bytes";
  }
}
