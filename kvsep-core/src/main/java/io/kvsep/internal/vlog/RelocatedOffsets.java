package io.kvsep.internal.vlog;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/**
 * Where records were and where they are now, collected by old segment. Offsets are below 2^31. Not
 * thread safe.
 */
final class RelocatedOffsets {
  private static final long[] NONE = {};

  /** Slots of the hash table by segments, so that most of what is not there meets a free slot. */
  private static final int SLOTS_PER_SEGMENT = 4;

  /** Ids of the segments that may occur, ascending. */
  private final long[] segments;

  /** Index in {@link #segments} plus 1 by hash of the id, 0 where there is none. */
  private final int[] slots;

  private final int[] counts;
  private final int[] countsMax;

  /** Of each segment with records, {@code old offset << 32 | new offset}. */
  private final long[][] pairs;

  private long count;
  private int segmentCount;

  /** Which of the segments have records; known once sorted. */
  private int[] occurring = {};

  RelocatedOffsets(Map<Long, Long> recordsMax) {
    int size = recordsMax.size();
    segments = new long[size];
    counts = new int[size];
    countsMax = new int[size];
    pairs = new long[size][];
    Arrays.fill(pairs, NONE);
    int i = 0;
    for (Map.Entry<Long, Long> entry : new TreeMap<>(recordsMax).entrySet()) {
      segments[i] = entry.getKey();
      countsMax[i++] = Math.toIntExact(entry.getValue());
    }
    slots = new int[Integer.highestOneBit(Math.max(1, size)) * 2 * SLOTS_PER_SEGMENT];
    for (int index = 0; index < size; index++) {
      int slot = slotOf(segments[index]);
      while (slots[slot] != 0) {
        slot = slot + 1 & slots.length - 1;
      }
      slots[slot] = index + 1;
    }
  }

  /** Asked for every entry of the tables, of which most may be in other segments. */
  boolean isAnnounced(long segment) {
    return indexOf(segment) >= 0;
  }

  void add(long segment, long oldOffset, long newOffset) {
    int index = indexOf(segment);
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

  private int indexOf(long segment) {
    for (int slot = slotOf(segment); slots[slot] != 0; slot = slot + 1 & slots.length - 1) {
      int index = slots[slot] - 1;
      if (segments[index] == segment) {
        return index;
      }
    }
    return -1;
  }

  /** Ids count up, so those of one job fall into different slots. */
  private int slotOf(long segment) {
    return (int) segment & slots.length - 1;
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
    for (int i = 0; i < segments.length; i++) {
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
    return segments[occurring[n]];
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
