package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.version.VersionEdit.AddedTable;
import io.kvsep.internal.version.VersionEdit.RemovedTable;
import io.kvsep.internal.version.VersionEdit.SealedSegment;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Adds up the edits of a manifest. Many edits then cost one version instead of one each, whatever
 * the number of tables. Overlaps and references to segments are left to the building of that
 * version. Not thread safe.
 */
final class Replay {
  private final Map<Long, AddedTable> tables = new HashMap<>();
  private final Map<Long, Long> sealedLengths = new TreeMap<>();
  private long nextFileNumber = 1;
  private long nextSegmentId = 1;
  private long lastSequence;
  private LogPosition replayFrom = LogPosition.START;
  private KeyspaceIds keyspaces = KeyspaceIds.NONE;

  /**
   * The next edit in the order of the file.
   *
   * @throws IllegalStateException when it does not follow from those before
   */
  void add(VersionEdit edit) {
    for (RemovedTable removed : edit.removedTables()) {
      AddedTable table = tables.remove(removed.number());
      require(table != null && table.level() == removed.level(), removed);
    }
    for (AddedTable added : edit.addedTables()) {
      VersionBuilder.requireSound(added);
      require(tables.put(added.meta().number(), added) == null, added);
    }
    for (long id : edit.addedSegments()) {
      require(sealedLengths.put(id, SegmentState.GROWING) == null, "segment " + id);
    }
    for (SealedSegment sealed : edit.sealedSegments()) {
      Long before = sealedLengths.put(sealed.id(), sealed.length());
      require(
          before != null && (before == SegmentState.GROWING || sealed.length() <= before), sealed);
    }
    for (long id : edit.removedSegments()) {
      require(sealedLengths.remove(id) != null, "segment " + id);
    }
    keyspaces = keyspaces.with(edit);
    nextFileNumber = Math.max(nextFileNumber, edit.nextFileNumber().orElse(0));
    nextSegmentId = Math.max(nextSegmentId, edit.nextSegmentId().orElse(0));
    lastSequence = edit.lastSequence().orElse(lastSequence);
    LogPosition position = edit.replayFrom();
    if (position != null) {
      replayFrom = position;
    }
  }

  /** One edit that makes the same state out of nothing. */
  VersionEdit snapshot() {
    VersionEdit snapshot =
        new VersionEdit()
            .nextFileNumber(nextFileNumber)
            .nextSegmentId(nextSegmentId)
            .lastSequence(lastSequence)
            .replayFrom(replayFrom);
    tables.values().forEach(table -> snapshot.addTable(table.level(), table.meta()));
    sealedLengths.forEach((id, length) -> addSegment(snapshot, id, length));
    keyspaces.addTo(snapshot);
    return snapshot;
  }

  long nextFileNumber() {
    return nextFileNumber;
  }

  long nextSegmentId() {
    return nextSegmentId;
  }

  /** As {@link #snapshot()}, of a version that is there. */
  static VersionEdit snapshotOf(Version version) {
    VersionEdit snapshot =
        new VersionEdit().lastSequence(version.lastSequence()).replayFrom(version.replayFrom());
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        snapshot.addTable(level, table.meta());
      }
    }
    version.segments().forEach((id, state) -> addSegment(snapshot, id, state.sealedLength()));
    version.keyspaceIds().addTo(snapshot);
    return snapshot;
  }

  private static void addSegment(VersionEdit snapshot, long id, long sealedLength) {
    snapshot.addSegment(id);
    if (sealedLength != SegmentState.GROWING) {
      snapshot.sealSegment(id, sealedLength);
    }
  }

  private static void require(boolean holds, Object what) {
    if (!holds) {
      throw new IllegalStateException("does not follow from the edits before: " + what);
    }
  }
}
