package io.kvsep.internal.version;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.util.List;

/**
 * The segments of a version and the bytes in each that its tables reference. The bytes follow from
 * the tables alone, but are carried over, at the cost of the edit's size and a copy of the array.
 * Immutable.
 */
final class SegmentLiveness {
  private final SegmentList segments;

  /** In list order. */
  private final long[] liveBytes;

  private final long total;

  private SegmentLiveness(SegmentList segments, long[] liveBytes, long total) {
    this.segments = segments;
    this.liveBytes = liveBytes;
    this.total = total;
  }

  static SegmentLiveness empty() {
    return new SegmentLiveness(SegmentList.EMPTY, new long[0], 0);
  }

  SegmentList segments() {
    return segments;
  }

  /** 0 for an unknown segment. */
  long liveBytes(long segment) {
    int index = segments.indexOf(segment);
    return index < 0 ? 0 : liveBytes[index];
  }

  long total() {
    return total;
  }

  SegmentLiveness with(VersionEdit edit, List<TableMeta> removed, List<TableMeta> added) {
    SegmentList list = segments.with(edit);
    long[] bytes = list == segments ? liveBytes.clone() : new long[list.count()];
    // Live bytes left in segments that are removed here.
    long leaving = 0;
    if (list != segments) {
      for (long id : segments.asMap().keySet()) {
        int index = list.indexOf(id);
        if (index < 0) {
          leaving += liveBytes(id);
        } else {
          bytes[index] = liveBytes(id);
        }
      }
    }
    long sum = total;
    for (TableMeta meta : removed) {
      for (SegmentUse use : meta.segments()) {
        int index = list.indexOf(use.segment());
        if (index < 0) {
          leaving -= use.liveBytes();
        } else {
          bytes[index] -= use.liveBytes();
        }
        sum -= use.liveBytes();
      }
    }
    for (TableMeta meta : added) {
      for (SegmentUse use : meta.segments()) {
        int index = list.indexOf(use.segment());
        if (index < 0) {
          throw new IllegalStateException(meta + " references unknown segment " + use.segment());
        }
        bytes[index] = Math.addExact(bytes[index], use.liveBytes());
        sum = Math.addExact(sum, use.liveBytes());
      }
    }
    if (leaving != 0) {
      throw new IllegalStateException("segments are removed with " + leaving + " live bytes");
    }
    return new SegmentLiveness(list, bytes, sum);
  }
}
