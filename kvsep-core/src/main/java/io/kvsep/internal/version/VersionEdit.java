package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.sstable.TableMeta;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One atomic change of the set of files: all of it is in force after {@link VersionSet#apply}, or
 * nothing. What it says is checked there, not here. The order of the calls does not matter:
 * removals of tables come before additions, segments are added, then sealed, then relocated, then
 * removed. A table that is removed from one level and added to another moves and stays the same
 * {@link TableFile}.
 *
 * <p>Not thread safe.
 */
public final class VersionEdit {
  /** A table and the level it goes to. */
  public record AddedTable(int level, TableMeta meta) {}

  /** A table that leaves a level. */
  public record RemovedTable(int level, long number) {}

  /**
   * A segment and its final length in bytes.
   *
   * @param lastSequence see {@link SegmentState#lastSequence}
   */
  public record SealedSegment(long id, long length, long lastSequence) {}

  /** A segment and the relocated file in which its records are found from now on. */
  public record Relocation(long segment, long file) {}

  /** A keyspace that gets a name. */
  public record AddedKeyspace(int id, String name) {}

  private final List<AddedTable> addedTables = new ArrayList<>();
  private final List<RemovedTable> removedTables = new ArrayList<>();
  private final List<Long> addedSegments = new ArrayList<>();
  private final List<SealedSegment> sealedSegments = new ArrayList<>();
  private final List<SealedSegment> addedRelocated = new ArrayList<>();
  private final List<Relocation> relocations = new ArrayList<>();
  private final List<Long> removedSegments = new ArrayList<>();
  private final List<AddedKeyspace> addedKeyspaces = new ArrayList<>();
  private final List<Integer> droppedKeyspaces = new ArrayList<>();
  private OptionalInt nextKeyspace = OptionalInt.empty();
  private OptionalLong nextFileNumber = OptionalLong.empty();
  private OptionalLong nextSegmentId = OptionalLong.empty();
  private OptionalLong lastSequence = OptionalLong.empty();
  private @Nullable LogPosition replayFrom;
  private LogPosition syncedLog = LogPosition.START;
  private long droppedDelete;
  private OptionalLong lostChange = OptionalLong.empty();
  private BackupLineage.@Nullable Restored restored;

  /** Numbers below are taken. The version set records its own counter if that is higher. */
  public VersionEdit nextFileNumber(long number) {
    nextFileNumber = OptionalLong.of(number);
    return this;
  }

  /** The highest sequence number that the tables cover. Never falls. */
  public VersionEdit lastSequence(long sequence) {
    lastSequence = OptionalLong.of(sequence);
    return this;
  }

  /** Where recovery begins: everything before is in tables. Never falls. */
  public VersionEdit replayFrom(LogPosition position) {
    replayFrom = position;
    return this;
  }

  /** The log in front of that position is durable; where it ends before, something is lost. */
  public VersionEdit syncedLog(LogPosition position) {
    syncedLog = position;
    return this;
  }

  public VersionEdit addTable(int level, TableMeta meta) {
    addedTables.add(new AddedTable(level, meta));
    return this;
  }

  public VersionEdit removeTable(int level, long number) {
    removedTables.add(new RemovedTable(level, number));
    return this;
  }

  /** A new segment, empty, the new end of the log. */
  public VersionEdit addSegment(long id) {
    addedSegments.add(id);
    return this;
  }

  /**
   * The segment has its final length; the log goes on in the next one. Sealing again may only make
   * it shorter, when recovery cuts off a torn end.
   *
   * @param lastSequence see {@link SegmentState#lastSequence}
   */
  public VersionEdit sealSegment(long id, long length, long lastSequence) {
    sealedSegments.add(new SealedSegment(id, length, lastSequence));
    return this;
  }

  /** A finished file with records of other segments. */
  public VersionEdit addRelocated(long id, long length) {
    addedRelocated.add(new SealedSegment(id, length, SegmentState.UNKNOWN));
    return this;
  }

  /** From now on the segment's records are found in that file, which is a relocated one. */
  public VersionEdit relocateSegment(long segment, long file) {
    relocations.add(new Relocation(segment, file));
    return this;
  }

  /**
   * Only for segments in which no table has a live byte, and whose file, if it has one, is no other
   * segment's home.
   */
  public VersionEdit removeSegment(long id) {
    removedSegments.add(id);
    return this;
  }

  /** Names a keyspace whose id was never used. */
  public VersionEdit addKeyspace(int id, String name) {
    addedKeyspaces.add(new AddedKeyspace(id, name));
    return this;
  }

  /** Takes a keyspace its name; what is in it is for the caller to delete. */
  public VersionEdit dropKeyspace(int id) {
    droppedKeyspaces.add(id);
    return this;
  }

  /** Ids of keyspaces below are taken. */
  public VersionEdit nextKeyspace(int id) {
    nextKeyspace = OptionalInt.of(id);
    return this;
  }

  /** A delete with this sequence number, and perhaps others with lower ones, is dropped. */
  public VersionEdit droppedDelete(long sequence) {
    droppedDelete = Math.max(droppedDelete, sequence);
    return this;
  }

  /**
   * Changes up to this sequence number are not in the log, because they never went there. In the
   * first edit of a manifest: they are not all there, for whatever reason.
   */
  public VersionEdit lostChange(long sequence) {
    lostChange = OptionalLong.of(Math.max(lostChange.orElse(0), sequence));
    return this;
  }

  /** A backup that is being restored, or has been. */
  public VersionEdit restored(BackupLineage.Restored backup) {
    restored = backup;
    return this;
  }

  VersionEdit nextSegmentId(long id) {
    nextSegmentId = OptionalLong.of(id);
    return this;
  }

  /** The same edit with these counters. */
  VersionEdit withCounters(long fileNumber, long segmentId) {
    VersionEdit copy = new VersionEdit();
    copy.addedTables.addAll(addedTables);
    copy.removedTables.addAll(removedTables);
    copy.addedSegments.addAll(addedSegments);
    copy.sealedSegments.addAll(sealedSegments);
    copy.addedRelocated.addAll(addedRelocated);
    copy.relocations.addAll(relocations);
    copy.removedSegments.addAll(removedSegments);
    copy.addedKeyspaces.addAll(addedKeyspaces);
    copy.droppedKeyspaces.addAll(droppedKeyspaces);
    copy.nextKeyspace = nextKeyspace;
    copy.lastSequence = lastSequence;
    copy.replayFrom = replayFrom;
    copy.syncedLog = syncedLog;
    copy.droppedDelete = droppedDelete;
    copy.lostChange = lostChange;
    copy.restored = restored;
    return copy.nextFileNumber(fileNumber).nextSegmentId(segmentId);
  }

  public OptionalLong nextFileNumber() {
    return nextFileNumber;
  }

  public OptionalLong lastSequence() {
    return lastSequence;
  }

  public @Nullable LogPosition replayFrom() {
    return replayFrom;
  }

  /** The start of the log when it says nothing. */
  public LogPosition syncedLog() {
    return syncedLog;
  }

  public List<AddedTable> addedTables() {
    return Collections.unmodifiableList(addedTables);
  }

  public List<RemovedTable> removedTables() {
    return Collections.unmodifiableList(removedTables);
  }

  public List<Long> addedSegments() {
    return Collections.unmodifiableList(addedSegments);
  }

  public List<SealedSegment> sealedSegments() {
    return Collections.unmodifiableList(sealedSegments);
  }

  public List<SealedSegment> addedRelocated() {
    return Collections.unmodifiableList(addedRelocated);
  }

  public List<Relocation> relocations() {
    return Collections.unmodifiableList(relocations);
  }

  /** Ids of all segment files that this edit adds. */
  List<Long> addedSegmentFiles() {
    List<Long> ids = new ArrayList<>(addedSegments);
    addedRelocated.forEach(file -> ids.add(file.id()));
    return ids;
  }

  public List<Long> removedSegments() {
    return Collections.unmodifiableList(removedSegments);
  }

  public List<AddedKeyspace> addedKeyspaces() {
    return Collections.unmodifiableList(addedKeyspaces);
  }

  public List<Integer> droppedKeyspaces() {
    return Collections.unmodifiableList(droppedKeyspaces);
  }

  /** 0 when none is dropped. */
  public long droppedDelete() {
    return droppedDelete;
  }

  /** Empty when it says nothing but by what happens to segments. */
  OptionalLong lostChange() {
    return lostChange;
  }

  BackupLineage.@Nullable Restored restored() {
    return restored;
  }

  OptionalInt nextKeyspace() {
    return nextKeyspace;
  }

  OptionalLong nextSegmentId() {
    return nextSegmentId;
  }

  /** For traces: tables as level:number, without their keys. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("edit");
    nextFileNumber.ifPresent(number -> text.append(" nextFileNumber=").append(number));
    nextSegmentId.ifPresent(id -> text.append(" nextSegmentId=").append(id));
    lastSequence.ifPresent(sequence -> text.append(" lastSequence=").append(sequence));
    if (replayFrom != null) {
      text.append(" replayFrom=").append(replayFrom.segment()).append('@');
      text.append(replayFrom.offset());
    }
    if (syncedLog.compareTo(LogPosition.START) > 0) {
      text.append(" syncedLog=").append(syncedLog.segment()).append('@');
      text.append(syncedLog.offset());
    }
    if (droppedDelete > 0) {
      text.append(" droppedDelete=").append(droppedDelete);
    }
    lostChange.ifPresent(sequence -> text.append(" lostChange=").append(sequence));
    if (restored != null) {
      text.append(' ').append(restored);
    }
    for (RemovedTable table : removedTables) {
      text.append(" -table=").append(table.level()).append(':').append(table.number());
    }
    for (AddedTable table : addedTables) {
      text.append(" +table=").append(table.level()).append(':').append(table.meta().number());
    }
    addedSegments.forEach(id -> text.append(" +segment=").append(id));
    for (SealedSegment segment : sealedSegments) {
      text.append(" sealed=").append(segment.id()).append('@').append(segment.length());
    }
    for (SealedSegment file : addedRelocated) {
      text.append(" +relocated=").append(file.id()).append('@').append(file.length());
    }
    for (Relocation relocation : relocations) {
      text.append(" relocate=").append(relocation.segment()).append('>');
      text.append(relocation.file());
    }
    removedSegments.forEach(id -> text.append(" -segment=").append(id));
    for (AddedKeyspace keyspace : addedKeyspaces) {
      text.append(" +keyspace=").append(keyspace.id()).append(':').append(keyspace.name());
    }
    droppedKeyspaces.forEach(id -> text.append(" -keyspace=").append(id));
    return text.toString();
  }
}
