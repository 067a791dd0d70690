package io.kvsep.internal.vlog;

import java.util.Arrays;
import java.util.Map;

/**
 * Where records were and where they are now, collected by old segment. Offsets are below 2^31. Not
 * thread safe.
 */
final class BlobFileOffsets {
  private static final long[] NONE = {};

  /** The segments that may occur. */
  private final SegmentIds segments;

  private final int[] counts;
  private final int[] countsMax;

  /** Of each segment with records, {@code old offset << 32 | new offset}. */
  private final long[][] pairs;

  private long count;
  private int segmentCount;

  /** Which of the segments have records; known once sorted. */
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

  /** Asked for every entry of the tables, of which most may be in other segments. */
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

  /** Records, of all segments. */
  long count() {
    return count;
  }

  /** Segments with records. */
  int segmentCount() {
    return segmentCount;
  }

  /** Ends adding. Of a record that came twice, one copy is as good as the other. */
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

  // Once sorted: of the n-th segment with records.

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
