package io.kvsep.internal.sstable;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/**
 * Description of a finished table, as in the manifest. Immutable; the key arrays are shared and
 * must not be modified.
 *
 * @param number file number, which determines the name
 * @param smallestKey first stored key of entries and deleted ranges, inclusive
 * @param largestKey last such key, inclusive; for a range, its end if no key directly precedes that
 * @param largestSequence of entries and deleted ranges, like {@code smallestSequence}
 * @param entryCount every version and tombstone counts
 * @param hiddenCount entries after a newer one of the same key, kept for snapshots between the two
 * @param rangeCount fragments of deleted ranges
 * @param expiresAtMillisMin 0 if no entry expires, like {@code expiresAtMillisMax}
 * @param segments references into the value log, ascending by segment
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
   * References of a table to one segment.
   *
   * @param liveBytes sum of the referenced records' lengths
   */
  public record SegmentUse(long segment, long liveBytes, long records) {}

  public TableMeta {
    segments = List.copyOf(segments);
  }

  public boolean hasExpired(long nowMillis) {
    return expiringCount > 0 && expiresAtMillisMin <= nowMillis;
  }

  /**
   * Whether this describes a table with properties {@code found}. Ignores a hidden count that an
   * earlier build did not record.
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

  /** No two tables of a store share a number. */
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
