package io.kvsep.internal.txn;

import io.kvsep.internal.base.Keyspaces;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Collects what a transaction reads: single stored keys and merged ranges. Not thread safe.
 *
 * <p>Memory is bounded. At the limit, neighbouring ranges are joined, nearest first and within a
 * keyspace before across, until half of it is free. Keys in between then count as read, which may
 * cause a false conflict but misses none. If recording a read fails for lack of memory, everything
 * counts as read.
 */
public final class ReadSet {
  /** About 40,000 keys of 16 bytes. */
  private static final long BYTES_MAX = 4 << 20;

  private static final int ENTRY_BYTES = 80;

  private final long bytesMax;

  /** From the first key of each range to the first key after it; from a single key to itself. */
  private final TreeMap<byte[], byte[]> ranges = new TreeMap<>(Arrays::compareUnsigned);

  private long bytes;

  /** Whether ranges may be missing or overlap. */
  private boolean lost;

  public ReadSet() {
    this(BYTES_MAX);
  }

  ReadSet(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  public boolean isEmpty() {
    return ranges.isEmpty() && !lost;
  }

  /** Makes everything count as read. */
  public void lose() {
    lost = true;
  }

  /** Approximate. */
  long bytes() {
    return bytes;
  }

  /** Adds a stored key; keeps the array. */
  public void add(byte[] key) {
    boolean lostBefore = lost;
    lost = true;
    Map.Entry<byte[], byte[]> before = ranges.floorEntry(key);
    if (before == null || !covers(before, key)) {
      put(key, key);
      keepBound();
    }
    lost = lostBefore;
  }

  /** Adds [{@code from}, {@code to}), which may be empty; keeps the arrays. */
  public void add(byte[] from, byte[] to) {
    if (Arrays.compareUnsigned(from, to) >= 0) {
      return;
    }
    boolean lostBefore = lost;
    lost = true;
    byte[] start = from;
    byte[] end = to;
    Map.Entry<byte[], byte[]> before = ranges.floorEntry(start);
    if (before != null && Arrays.compareUnsigned(end(before), start) >= 0) {
      start = before.getKey();
    }
    Map.Entry<byte[], byte[]> last = ranges.floorEntry(end);
    if (last != null && Arrays.compareUnsigned(end(last), end) > 0) {
      end = end(last);
    }
    Map<byte[], byte[]> inside = ranges.subMap(start, end);
    for (Map.Entry<byte[], byte[]> entry : inside.entrySet()) {
      bytes -= cost(entry.getKey(), entry.getValue());
    }
    inside.clear();
    put(start, end);
    keepBound();
    lost = lostBefore;
  }

  public ReadRanges toRanges() {
    if (lost) {
      return ReadRanges.EVERYTHING;
    }
    byte[][] starts = ranges.keySet().toArray(new byte[0][]);
    byte[][] ends = ranges.values().toArray(new byte[0][]);
    return new ReadRanges(starts, ends);
  }

  private void put(byte[] start, byte[] end) {
    ranges.put(start, end);
    bytes += cost(start, end);
  }

  private static int cost(byte[] start, byte[] end) {
    return ENTRY_BYTES + start.length + (start == end ? 0 : end.length);
  }

  private static boolean covers(Map.Entry<byte[], byte[]> range, byte[] key) {
    return Arrays.equals(range.getKey(), key) || Arrays.compareUnsigned(key, range.getValue()) < 0;
  }

  private static byte[] end(Map.Entry<byte[], byte[]> range) {
    return range.getKey() == range.getValue() ? successor(range.getKey()) : range.getValue();
  }

  /** The first key after a key. */
  public static byte[] successor(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  private void keepBound() {
    while (bytes > bytesMax && ranges.size() > 1) {
      coarsen();
    }
  }

  private void coarsen() {
    List<Gap> gaps = new ArrayList<>(ranges.size());
    Map.Entry<byte[], byte[]> before = null;
    for (Map.Entry<byte[], byte[]> range : ranges.entrySet()) {
      if (before != null) {
        gaps.add(Gap.between(before.getKey(), before.getValue(), range.getKey()));
      }
      before = range;
    }
    gaps.sort(null);
    for (Gap gap : gaps) {
      if (bytes <= bytesMax / 2) {
        return;
      }
      close(gap);
    }
  }

  private void close(Gap gap) {
    Map.Entry<byte[], byte[]> before = ranges.lowerEntry(gap.right);
    byte[] rightEnd = ranges.remove(gap.right);
    if (before == null || rightEnd == null) {
      throw new IllegalStateException("a gap between ranges that are not there");
    }
    byte[] start = before.getKey();
    bytes -= cost(gap.right, rightEnd) + cost(start, before.getValue());
    put(start, rightEnd == gap.right ? successor(rightEnd) : rightEnd);
  }

  /** The gap between two neighbours, ordered by estimated size. */
  private static final class Gap implements Comparable<Gap> {
    final byte[] right;
    private final boolean withinKeyspace;

    /** Leading bytes that both sides share. */
    private final int shared;

    /** Difference of the next eight bytes. */
    private final long distance;

    private Gap(byte[] right, boolean withinKeyspace, int shared, long distance) {
      this.right = right;
      this.withinKeyspace = withinKeyspace;
      this.shared = shared;
      this.distance = distance;
    }

    static Gap between(byte[] leftStart, byte[] left, byte[] right) {
      int mismatch = Arrays.mismatch(left, right);
      int shared = mismatch < 0 ? right.length : mismatch;
      boolean within = Keyspaces.of(leftStart) == Keyspaces.of(right);
      return new Gap(right, within, shared, next(right, shared) - next(left, shared));
    }

    private static long next(byte[] key, int at) {
      long next = 0;
      for (int i = at; i < at + 8; i++) {
        next = next << 8 | (i < key.length ? key[i] & 0xff : 0);
      }
      return next;
    }

    @Override
    public int compareTo(Gap other) {
      if (withinKeyspace != other.withinKeyspace) {
        return withinKeyspace ? -1 : 1;
      }
      int order = Integer.compare(other.shared, shared);
      return order != 0 ? order : Long.compareUnsigned(distance, other.distance);
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(right);
    }
  }
}
