package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.version.VersionEdit.AddedTable;
import io.kvsep.internal.version.VersionEdit.RemovedTable;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * Accumulates the edits of a manifest, so that all cost only one version. Overlaps and references
 * to segments are checked when that is built. Not thread safe.
 */
final class EditReplay {
  private final Map<Long, AddedTable> tables = new HashMap<>();
  private final SortedMap<Long, SegmentState> segments = new TreeMap<>();
  private long nextFileNumber = 1;
  private long nextSegmentId = 1;
  private long lastSequence;
  private LogPosition replayFrom = LogPosition.START;
  private KeyspaceIds keyspaces = KeyspaceIds.NONE;
  private BackupLineage history = BackupLineage.NONE;
  private boolean begun;

  /** Whether the first edit has a lostChange; manifests of earlier builds never do. */
  private boolean tellsLost = true;

  /**
   * Called in file order.
   *
   * @throws IllegalStateException if the edit does not fit the earlier ones
   */
  void add(VersionEdit edit) {
    if (!begun) {
      begun = true;
      tellsLost = edit.lostChange().isPresent();
    }
    for (RemovedTable removed : edit.removedTables()) {
      AddedTable table = tables.remove(removed.number());
      require(table != null && table.level() == removed.level(), removed);
    }
    for (AddedTable added : edit.addedTables()) {
      VersionBuilder.requireSound(added);
      require(tables.put(added.meta().number(), added) == null, added);
    }
    LogPosition position = edit.replayFrom();
    if (position != null) {
      replayFrom = position;
    }
    lastSequence = edit.lastSequence().orElse(lastSequence);
    history = history.with(edit, segments, replayFrom, lastSequence);
    SegmentList.change(segments, edit);
    keyspaces = keyspaces.with(edit);
    nextFileNumber = Math.max(nextFileNumber, edit.nextFileNumber().orElse(0));
    nextSegmentId = Math.max(nextSegmentId, edit.nextSegmentId().orElse(0));
  }

  /** One edit that creates this state from nothing. */
  VersionEdit snapshot() {
    VersionEdit snapshot =
        new VersionEdit()
            .nextFileNumber(nextFileNumber)
            .nextSegmentId(nextSegmentId)
            .lastSequence(lastSequence)
            .replayFrom(replayFrom);
    tables.values().forEach(table -> snapshot.addTable(table.level(), table.meta()));
    segments.values().forEach(segment -> addSegment(snapshot, segment));
    keyspaces.addTo(snapshot);
    // Earlier builds may have removed, moved or loaded anything that is not replayed.
    BackupLineage known = tellsLost ? history : history.withLost(lastSequence);
    known.addTo(snapshot);
    return snapshot;
  }

  /**
   * Names of the files that are durable and that no opening changes: the tables, blob files, and
   * segments before the replay position. A later segment may be sealed before its content is
   * synced.
   */
  Set<String> unchangingFiles() {
    Set<String> names = new HashSet<>();
    tables.keySet().forEach(number -> names.add(StoreFiles.table(number)));
    for (SegmentState segment : segments.values()) {
      boolean isDurable = segment.relocated() || segment.id() < replayFrom.segment();
      if (segment.hasFile() && segment.isSealed() && isDurable) {
        names.add(StoreFiles.segment(segment.id()));
      }
    }
    return names;
  }

  long nextFileNumber() {
    return nextFileNumber;
  }

  long nextSegmentId() {
    return nextSegmentId;
  }

  /** Like {@link #snapshot()}, for an existing version. */
  static VersionEdit snapshotOf(Version version) {
    return snapshotOf(version, segment -> true);
  }

  /** With only some of its segments. */
  static VersionEdit snapshotOf(Version version, Predicate<SegmentState> with) {
    VersionEdit snapshot =
        new VersionEdit().lastSequence(version.lastSequence()).replayFrom(version.replayFrom());
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        snapshot.addTable(level, table.meta());
      }
    }
    version.segments().values().stream()
        .filter(with)
        .forEach(segment -> addSegment(snapshot, segment));
    version.keyspaceIds().addTo(snapshot);
    version.history().addTo(snapshot);
    return snapshot;
  }

  private static void addSegment(VersionEdit snapshot, SegmentState segment) {
    if (segment.relocated()) {
      snapshot.addRelocated(segment.id(), segment.sealedLength());
    } else {
      snapshot.addSegment(segment.id());
      if (segment.isSealed()) {
        snapshot.sealSegment(segment.id(), segment.sealedLength(), segment.lastSequence());
      }
    }
    if (!segment.hasFile()) {
      snapshot.relocateSegment(segment.id(), segment.home());
    }
  }

  private static void require(boolean holds, Object what) {
    if (!holds) {
      throw new IllegalStateException("does not follow from the edits before: " + what);
    }
  }
}
