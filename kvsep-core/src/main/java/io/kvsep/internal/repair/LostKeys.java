package io.kvsep.internal.repair;

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
  private record Range(byte @Nullable [] from, byte @Nullable [] to, long largestSequence) {
    boolean contains(byte[] key) {
      return (from == null || Arrays.compareUnsigned(from, key) <= 0)
          && (to == null || Arrays.compareUnsigned(key, to) <= 0);
    }
  }

  private final List<Range> ranges = new ArrayList<>();

  void add(byte @Nullable [] from, byte @Nullable [] to, long largestSequence) {
    ranges.add(new Range(from, to, largestSequence));
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
}
