package io.kvsep.internal.sstable;

import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Sums record lengths and counts by segment in an open-addressing hash table, which allocates only
 * to grow. Not thread safe.
 */
final class SegmentTally {
  private static final int CAPACITY_INITIAL = 64;

  /** A slot is free while its record count is 0. */
  private long[] segments = new long[CAPACITY_INITIAL];

  private long[] liveBytes = new long[CAPACITY_INITIAL];
  private long[] records = new long[CAPACITY_INITIAL];
  private int count;

  void add(long segment, long recordBytes) {
    int slot = slotOf(segment);
    if (records[slot] == 0) {
      if (2 * (count + 1) > segments.length) {
        grow();
        slot = slotOf(segment);
      }
      segments[slot] = segment;
      count++;
    }
    liveBytes[slot] += recordBytes;
    records[slot]++;
  }

  /** Ascending by segment. */
  List<SegmentUse> uses() {
    return IntStream.range(0, segments.length)
        .filter(slot -> records[slot] != 0)
        .mapToObj(slot -> new SegmentUse(segments[slot], liveBytes[slot], records[slot]))
        .sorted(Comparator.comparingLong(SegmentUse::segment))
        .toList();
  }

  private int slotOf(long segment) {
    int mask = segments.length - 1;
    int slot = (int) ((segment * 0x9e3779b97f4a7c15L) >>> 32) & mask;
    while (records[slot] != 0 && segments[slot] != segment) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private void grow() {
    long[] oldSegments = segments;
    long[] oldLiveBytes = liveBytes;
    long[] oldRecords = records;
    segments = new long[oldSegments.length * 2];
    liveBytes = new long[segments.length];
    records = new long[segments.length];
    for (int i = 0; i < oldSegments.length; i++) {
      if (oldRecords[i] != 0) {
        int slot = slotOf(oldSegments[i]);
        segments[slot] = oldSegments[i];
        liveBytes[slot] = oldLiveBytes[i];
        records[slot] = oldRecords[i];
      }
    }
  }
}
