package io.kvsep.internal.vlog;

import java.util.Arrays;
import java.util.Map;

/**
 * Collects pairs of old and new record offsets by old segment. Offsets are below 2^31. Not thread
 * safe.
 */
final class BlobFileOffsets {
  private static final long[] NONE = {};

  private final SegmentIds segments;

  private final int[] counts;
  private final int[] countsMax;

  /** {@code old offset << 32 | new offset}, by segment. */
  private final long[][] pairs;

  private long count;
  private int segmentCount;

  /** Segments that have records; set by {@link #sort}. */
  private int[] occurring = {};

  BlobFileOffsets(Map<Long, Long> recordsMax) {
    segments = new SegmentIds(recordsMax.keySet());
    int size = segments.count();
    counts = new int[size];
    countsMax = new int[size];
    pairs = new long[size][];
    Arrays.fill(pairs, NONE);
    for (int i = 0; i < size; i++) {
      countsMax[i] = Math.toIntExact(recordsMax.getOrDefault(segments.id(i), 0L));
    }
  }

  /** Called for every table entry; most entries are in other segments. */
  boolean isAnnounced(long segment) {
    return segments.indexOf(segment) >= 0;
  }

  void add(long segment, long oldOffset, long newOffset) {
    int index = segments.indexOf(segment);
    if (index < 0) {
      throw new IllegalArgumentException("segment " + segment + " was not announced");
    }
    int at = counts[index];
    if (at == countsMax[index]) {
      throw new IllegalArgumentException(
          "segment " + segment + " has more than the " + at + " records announced");
    }
    if (at == 0) {
      pairs[index] = new long[countsMax[index]];
      segmentCount++;
    }
    pairs[index][at] = oldOffset << 32 | newOffset;
    counts[index] = at + 1;
    count++;
  }

  long count() {
    return count;
  }

  int segmentCount() {
    return segmentCount;
  }

  /** Ends adding. Drops duplicates. */
  void sort() {
    occurring = new int[segmentCount];
    int next = 0;
    count = 0;
    for (int i = 0; i < segments.count(); i++) {
      if (counts[i] > 0) {
        occurring[next++] = i;
        Arrays.sort(pairs[i], 0, counts[i]);
        counts[i] = withoutTwins(pairs[i], counts[i]);
        count += counts[i];
      }
    }
  }

  private static int withoutTwins(long[] sorted, int length) {
    int kept = 1;
    for (int i = 1; i < length; i++) {
      if (sorted[i] >>> 32 != sorted[kept - 1] >>> 32) {
        sorted[kept++] = sorted[i];
      }
    }
    return kept;
  }

  // After sort(); n counts the segments with records.

  long segment(int n) {
    return segments.id(occurring[n]);
  }

  int count(int n) {
    return counts[occurring[n]];
  }

  int oldOffset(int n, int index) {
    return (int) (pairs[occurring[n]][index] >>> 32);
  }

  int newOffset(int n, int index) {
    return (int) pairs[occurring[n]][index];
  }
}
