package io.kvsep.internal.repair;

import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Key ranges whose entries were lost with their tables. Grows with the number of damaged places.
 */
final class LostKeys {
  /** Both ends inclusive; null if open. */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
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
   * @param uses segments to which the table points; null if unknown
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

  /** Highest sequence number that a lost entry of this key may have had; 0 if none. */
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

  /** Whether a lost entry of this key may have pointed to one of two segments. */
  boolean mayHaveNamed(byte[] key, long segment, long other) {
    for (Range range : ranges) {
      if (range.contains(key) && (range.names(segment) || range.names(other))) {
        return true;
      }
    }
    return false;
  }
}
