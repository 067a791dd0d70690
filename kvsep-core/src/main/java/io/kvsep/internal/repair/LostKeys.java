package io.kvsep.internal.repair;

import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Ranges of keys of which entries are lost with the tables they were in. Grows with the number of
 * damaged places.
 */
final class LostKeys {
  /** Both ends inclusive, null for open. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Range(
      byte @Nullable [] from,
      byte @Nullable [] to,
      long largestSequence,
      @Nullable List<SegmentUse> uses) {
    boolean contains(byte[] key) {
      return (from == null || Arrays.compareUnsigned(from, key) <= 0)
          && (to == null || Arrays.compareUnsigned(key, to) <= 0);
    }

    boolean names(long segment) {
      return uses == null || uses.stream().anyMatch(use -> use.segment() == segment);
    }
  }

  private final List<Range> ranges = new ArrayList<>();

  /**
   * Adds what is lost of a table.
   *
   * @param from the first key, inclusive, null for open
   * @param to the last one, inclusive, null for open
   * @param uses what the table's pointers name, null if nobody knows
   */
  void add(
      byte @Nullable [] from,
      byte @Nullable [] to,
      long largestSequence,
      @Nullable List<SegmentUse> uses) {
    ranges.add(new Range(from, to, largestSequence, uses));
  }

  boolean isEmpty() {
    return ranges.isEmpty();
  }

  /** Highest sequence number that an entry of this key may have had that is lost; 0 for none. */
  long largestSequence(byte[] key) {
    long largest = 0;
    for (Range range : ranges) {
      if (range.largestSequence() > largest && range.contains(key)) {
        largest = range.largestSequence();
      }
    }
    return largest;
  }

  boolean contains(byte[] key) {
    return largestSequence(key) > 0;
  }

  /** Whether an entry of this key that is lost may have named one of two segments. */
  boolean mayHaveNamed(byte[] key, long segment, long other) {
    for (Range range : ranges) {
      if (range.contains(key) && (range.names(segment) || range.names(other))) {
        return true;
      }
    }
    return false;
  }
}
