package io.kvsep.internal.version;

import java.util.Arrays;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The segments of the value log in ascending order, shared by all versions that have the same ones.
 * Immutable but for the count of its sharers.
 */
final class SegmentList {
  final long[] ids;
  final long[] sealedLengths;

  /** Made when first asked for; making it twice does no harm. */
  private volatile @Nullable SortedMap<Long, SegmentState> map;

  /** Versions that have this list. Guarded by LiveFiles. */
  int sharers;

  /** Takes the arrays over. */
  SegmentList(long[] ids, long[] sealedLengths) {
    this.ids = ids;
    this.sealedLengths = sealedLengths;
  }

  /** Place of a segment in the arrays, negative when it is not there. */
  int indexOf(long id) {
    return Arrays.binarySearch(ids, id);
  }

  SortedMap<Long, SegmentState> asMap() {
    SortedMap<Long, SegmentState> current = map;
    if (current == null) {
      SortedMap<Long, SegmentState> states = new TreeMap<>();
      for (int i = 0; i < ids.length; i++) {
        states.put(ids[i], new SegmentState(ids[i], sealedLengths[i]));
      }
      current = Collections.unmodifiableSortedMap(states);
      map = current;
    }
    return current;
  }
}
