package io.kvsep.internal.vlog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

/**
 * Blob files by the old segments whose records they contain. Immutable; a lookup allocates nothing.
 */
final class SegmentLocations {
  static final SegmentLocations NONE = new SegmentLocations(new long[0], new Segment[0][]);

  private static final Segment[] NOWHERE = {};

  /** Ascending. */
  private final long[] segments;

  /** Per segment, newest first. */
  private final Segment[][] files;

  private SegmentLocations(long[] segments, Segment[][] files) {
    this.segments = segments;
    this.files = files;
  }

  /** Newest first. Must not be modified. */
  Segment[] of(long segment) {
    int index = Arrays.binarySearch(segments, segment);
    return index < 0 ? NOWHERE : files[index];
  }

  SegmentLocations with(Collection<Long> added, Segment file) {
    TreeMap<Long, Segment[]> all = toMap();
    for (long segment : added) {
      List<Segment> homes = new ArrayList<>(Arrays.asList(of(segment)));
      homes.removeIf(home -> home.id() == file.id());
      homes.add(file);
      homes.sort(Comparator.comparingLong(Segment::id).reversed());
      all.put(segment, homes.toArray(NOWHERE));
    }
    return of(all);
  }

  SegmentLocations without(long fileId) {
    TreeMap<Long, Segment[]> all = new TreeMap<>();
    boolean found = false;
    for (int i = 0; i < segments.length; i++) {
      Segment[] kept =
          Arrays.stream(files[i]).filter(home -> home.id() != fileId).toArray(Segment[]::new);
      found |= kept.length < files[i].length;
      if (kept.length > 0) {
        all.put(segments[i], kept);
      }
    }
    return found ? of(all) : this;
  }

  private TreeMap<Long, Segment[]> toMap() {
    TreeMap<Long, Segment[]> all = new TreeMap<>();
    for (int i = 0; i < segments.length; i++) {
      all.put(segments[i], files[i]);
    }
    return all;
  }

  private static SegmentLocations of(TreeMap<Long, Segment[]> all) {
    return new SegmentLocations(
        all.keySet().stream().mapToLong(id -> id).toArray(),
        all.values().toArray(new Segment[0][]));
  }
}
