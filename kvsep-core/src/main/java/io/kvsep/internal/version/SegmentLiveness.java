package io.kvsep.internal.version;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.VersionEdit.SealedSegment;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * The segments of a version and how many of their bytes its tables reference. The bytes follow from
 * the tables alone; here they are carried along from version to version, at the cost of what an
 * edit changes and a copy of the arrays. Immutable.
 */
final class SegmentLiveness {
  private final SegmentList segments;
  private final long[] liveBytes;
  private final long total;

  private SegmentLiveness(SegmentList segments, long[] liveBytes, long total) {
    this.segments = segments;
    this.liveBytes = liveBytes;
    this.total = total;
  }

  static SegmentLiveness empty() {
    return new SegmentLiveness(new SegmentList(new long[0], new long[0]), new long[0], 0);
  }

  SegmentList segments() {
    return segments;
  }

  /** Record bytes that tables reference in a segment; 0 for one that is not in here. */
  long liveBytes(long segment) {
    int index = segments.indexOf(segment);
    return index < 0 ? 0 : liveBytes[index];
  }

  /** Record bytes that tables reference in all segments. */
  long total() {
    return total;
  }

  /**
   * After an edit, of which the tables that come and go are given with their facts.
   *
   * @throws IllegalStateException when the edit does not fit the segments there are
   */
  SegmentLiveness with(VersionEdit edit, List<TableMeta> removed, List<TableMeta> added) {
    SegmentLiveness grown = withSegments(edit.addedSegments());
    SegmentList list = grown.segments;
    long[] bytes = grown == this ? liveBytes.clone() : grown.liveBytes;
    long sum = total;
    for (TableMeta meta : removed) {
      for (SegmentUse use : meta.segments()) {
        bytes[list.indexOf(use.segment())] -= use.liveBytes();
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
    list = sealed(list, edit.sealedSegments());
    return without(edit.removedSegments(), list, bytes, sum);
  }

  private SegmentLiveness withSegments(List<Long> added) {
    if (added.isEmpty()) {
      return this;
    }
    long[] coming = added.stream().mapToLong(Long::longValue).sorted().toArray();
    long[] ids = LongStream.concat(LongStream.of(segments.ids), LongStream.of(coming)).toArray();
    Arrays.sort(ids);
    long[] sealedLengths = new long[ids.length];
    long[] bytes = new long[ids.length];
    for (int i = 0; i < ids.length; i++) {
      if (ids[i] < 1 || ids[i] >= VersionSet.NUMBER_LIMIT || (i > 0 && ids[i] == ids[i - 1])) {
        throw new IllegalStateException("segment " + ids[i] + " is impossible or added twice");
      }
      int before = segments.indexOf(ids[i]);
      sealedLengths[i] = before < 0 ? SegmentState.GROWING : segments.sealedLengths[before];
      bytes[i] = before < 0 ? 0 : liveBytes[before];
    }
    return new SegmentLiveness(new SegmentList(ids, sealedLengths), bytes, total);
  }

  private static SegmentList sealed(SegmentList list, List<SealedSegment> sealed) {
    if (sealed.isEmpty()) {
      return list;
    }
    long[] sealedLengths = list.sealedLengths.clone();
    for (SealedSegment segment : sealed) {
      int index = list.indexOf(segment.id());
      if (index < 0 || segment.length() < 0) {
        throw new IllegalStateException("unknown segment or impossible length: " + segment);
      }
      // Sealing again makes a segment shorter: recovery cuts a torn tail off.
      if (sealedLengths[index] != SegmentState.GROWING && segment.length() > sealedLengths[index]) {
        throw new IllegalStateException("segment " + segment.id() + " is sealed already");
      }
      sealedLengths[index] = segment.length();
    }
    return new SegmentList(list.ids, sealedLengths);
  }

  private static SegmentLiveness without(
      List<Long> removed, SegmentList list, long[] bytes, long sum) {
    if (removed.isEmpty()) {
      return new SegmentLiveness(list, bytes, sum);
    }
    boolean[] leaving = new boolean[list.ids.length];
    for (long id : removed) {
      int index = list.indexOf(id);
      if (index < 0 || leaving[index]) {
        throw new IllegalStateException("unknown segment " + id + " is removed");
      }
      if (bytes[index] != 0) {
        throw new IllegalStateException(
            "segment " + id + " is removed with " + bytes[index] + " live bytes");
      }
      leaving[index] = true;
    }
    int count = list.ids.length - removed.size();
    long[] ids = new long[count];
    long[] sealedLengths = new long[count];
    long[] left = new long[count];
    int next = 0;
    for (int i = 0; i < leaving.length; i++) {
      if (!leaving[i]) {
        ids[next] = list.ids[i];
        sealedLengths[next] = list.sealedLengths[i];
        left[next++] = bytes[i];
      }
    }
    return new SegmentLiveness(new SegmentList(ids, sealedLengths), left, sum);
  }
}
