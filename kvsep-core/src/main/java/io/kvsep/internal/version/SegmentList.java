package io.kvsep.internal.version;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.version.VersionEdit.Relocation;
import io.kvsep.internal.version.VersionEdit.SealedSegment;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.LongStream;

/**
 * The segments of the value log, ascending. Versions share an unchanged list. Immutable except for
 * {@code sharers}.
 *
 * <p>Invariant: the home of every segment has a file.
 */
final class SegmentList {
  static final SegmentList EMPTY = new SegmentList(new TreeMap<>());

  private final long[] ids;
  private final SortedMap<Long, SegmentState> states;

  /** Versions that share this list. Guarded by LiveFiles. */
  int sharers;

  /** Takes ownership of the map. */
  private SegmentList(SortedMap<Long, SegmentState> states) {
    this.ids = states.keySet().stream().mapToLong(Long::longValue).toArray();
    this.states = Collections.unmodifiableSortedMap(states);
  }

  int count() {
    return ids.length;
  }

  /** Negative if absent. */
  int indexOf(long id) {
    return Arrays.binarySearch(ids, id);
  }

  SortedMap<Long, SegmentState> asMap() {
    return states;
  }

  LongStream files() {
    return states.values().stream().filter(SegmentState::hasFile).mapToLong(SegmentState::id);
  }

  /** Returns this list if the edit changes no segment. */
  SegmentList with(VersionEdit edit) {
    if (edit.addedSegments().isEmpty()
        && edit.addedRelocated().isEmpty()
        && edit.sealedSegments().isEmpty()
        && edit.relocations().isEmpty()
        && edit.removedSegments().isEmpty()) {
      return this;
    }
    SortedMap<Long, SegmentState> after = new TreeMap<>(states);
    change(after, edit);
    requireHomes(after.values(), after);
    return new SegmentList(after);
  }

  static void change(SortedMap<Long, SegmentState> segments, VersionEdit edit) {
    for (long id : edit.addedSegments()) {
      add(segments, SegmentState.ofLog(id, SegmentState.GROWING));
    }
    for (SealedSegment file : edit.addedRelocated()) {
      require(file.length() > 0, "impossible length", file);
      add(segments, SegmentState.ofRelocated(file.id(), file.length()));
    }
    for (SealedSegment sealed : edit.sealedSegments()) {
      SegmentState before = known(segments, sealed.id());
      // Recovery seals again, shorter, to cut off a torn tail.
      require(
          before.isLog()
              && sealed.length() >= 0
              && (!before.isSealed() || sealed.length() <= before.sealedLength()),
          "sealed already",
          sealed);
      require(
          sealed.lastSequence() == SegmentState.UNKNOWN
              || sealed.lastSequence() <= Limits.SEQUENCE_MAX,
          "impossible number",
          sealed);
      segments.put(sealed.id(), before.sealed(sealed.length(), sealed.lastSequence()));
    }
    for (Relocation relocation : edit.relocations()) {
      SegmentState before = known(segments, relocation.segment());
      require(
          before.isSealed() && known(segments, relocation.file()).relocated(),
          "cannot be moved",
          relocation);
      segments.put(before.id(), before.movedTo(relocation.file()));
    }
    for (long id : edit.removedSegments()) {
      require(segments.remove(id) != null, "unknown segment is removed", id);
    }
  }

  static void requireHomes(
      Collection<SegmentState> changed, SortedMap<Long, SegmentState> segments) {
    for (SegmentState segment : changed) {
      SegmentState home = segments.get(segment.home());
      require(home != null && home.hasFile(), "no file has the records", segment);
    }
  }

  private static void add(SortedMap<Long, SegmentState> segments, SegmentState segment) {
    require(
        segment.id() >= 1
            && segment.id() < FileNumbers.LIMIT
            && segments.putIfAbsent(segment.id(), segment) == null,
        "impossible or added twice",
        segment);
  }

  private static SegmentState known(SortedMap<Long, SegmentState> segments, long id) {
    SegmentState segment = segments.get(id);
    if (segment == null) {
      throw new IllegalStateException("unknown segment " + id);
    }
    return segment;
  }

  private static void require(boolean holds, String problem, Object what) {
    if (!holds) {
      throw new IllegalStateException(problem + ": " + what);
    }
  }
}
