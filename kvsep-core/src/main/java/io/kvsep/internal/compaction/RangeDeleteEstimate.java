package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.Arrays;
import java.util.List;

/**
 * Estimates the log bytes that a table's range deletes cover below it, unread: the share of a
 * partly covered table is interpolated as if its keys were evenly spread.
 */
final class RangeDeleteEstimate {
  private RangeDeleteEstimate() {}

  /** Without ranges newer than {@code oldestReader}, which may see what they cover. */
  static double below(
      Version version, int level, TableFile table, RangeTombstones ranges, long oldestReader) {
    double bytes = 0;
    for (int below = level + 1; below < Version.LEVELS; below++) {
      bytes += covered(ranges, oldestReader, version.overlapping(below, first(table), last(table)));
    }
    return bytes;
  }

  /** Both ascend and are disjoint, so one pass suffices. */
  private static double covered(RangeTombstones ranges, long oldestReader, List<TableFile> tables) {
    double bytes = 0;
    int range = 0;
    for (TableFile table : tables) {
      while (range < ranges.count()
          && Arrays.compareUnsigned(ranges.end(range), first(table)) <= 0) {
        range++;
      }
      double share = 0;
      // The last range that meets this table may meet the next one too.
      for (int i = range;
          i < ranges.count() && Arrays.compareUnsigned(ranges.start(i), last(table)) <= 0;
          i++) {
        long[] sequences = ranges.sequences(i);
        if (sequences[sequences.length - 1] <= oldestReader) {
          share += share(table, ranges.start(i), ranges.end(i));
        }
        range = i;
      }
      bytes += Math.min(1, share) * table.valueBytes();
    }
    return bytes;
  }

  /** The covered share of the span from the table's first to its last key. */
  private static double share(TableFile table, byte[] start, byte[] end) {
    byte[] first = first(table);
    byte[] last = last(table);
    boolean fromFirst = Arrays.compareUnsigned(start, first) <= 0;
    boolean beyondLast = Arrays.compareUnsigned(end, last) > 0;
    if (fromFirst && beyondLast) {
      return 1;
    }
    int mismatch = Arrays.mismatch(first, last);
    int shared = mismatch < 0 ? first.length : mismatch;
    double from = position(first, shared);
    double length = position(last, shared) - from;
    if (length <= 0) {
      return 0;
    }
    double rangeFrom = fromFirst ? from : position(start, shared);
    double rangeTo = beyondLast ? from + length : position(end, shared);
    return Math.max(0, rangeTo - rangeFrom) / length;
  }

  /** The eight bytes after {@code shared} as a number of the same order. */
  private static double position(byte[] key, int shared) {
    double position = 0;
    for (int i = 0; i < 8; i++) {
      position = position * 256 + (shared + i < key.length ? key[shared + i] & 0xff : 0);
    }
    return position;
  }

  private static byte[] first(TableFile table) {
    return table.meta().smallestKey();
  }

  private static byte[] last(TableFile table) {
    return table.meta().largestKey();
  }
}
