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
 * One atomic change of the set of files, see {@link VersionSet#apply}. The order of calls does not
 * matter: tables are removed, then added; segments are added, then sealed, relocated and removed. A
 * table that is removed from one level and added to another stays the same {@link TableFile}. Not
 * thread safe.
 */
public final class VersionEdit {
  public record AddedTable(int level, TableMeta meta) {}

  public record RemovedTable(int level, long number) {}

  /**
   * A segment that gets no more records.
   *
   * @param lastSequence see {@link SegmentState#lastSequence}
   */
  public record SealedSegment(long id, long length, long lastSequence) {}

  /** A segment and the blob file that holds its records from now on. */
  public record Relocation(long segment, long file) {}

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

  /** Lower numbers are taken. The version set records its own counter if higher. */
  public VersionEdit nextFileNumber(long number) {
    nextFileNumber = OptionalLong.of(number);
    return this;
  }

  /** See {@link Version#lastSequence}; never falls. */
  public VersionEdit lastSequence(long sequence) {
    lastSequence = OptionalLong.of(sequence);
    return this;
  }

  /** Recovery begins here: everything before is in tables. Never falls. */
  public VersionEdit replayFrom(LogPosition position) {
    replayFrom = position;
    return this;
  }

  /** The log before it is durable; a log that ends earlier has lost something. */
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

  /** Adds an empty segment, the new end of the log. */
  public VersionEdit addSegment(long id) {
    addedSegments.add(id);
    return this;
  }

  /**
   * The log continues in the next segment. Sealing again may only shorten, when recovery cuts off a
   * torn tail.
   */
  public VersionEdit sealSegment(long id, long length, long lastSequence) {
    sealedSegments.add(new SealedSegment(id, length, lastSequence));
    return this;
  }

  /** Adds a finished blob file. */
  public VersionEdit addRelocated(long id, long length) {
    addedRelocated.add(new SealedSegment(id, length, SegmentState.UNKNOWN));
    return this;
  }

  public VersionEdit relocateSegment(long segment, long file) {
    relocations.add(new Relocation(segment, file));
    return this;
  }

  /** Only for segments without live bytes whose file, if any, is no other segment's home. */
  public VersionEdit removeSegment(long id) {
    removedSegments.add(id);
    return this;
  }

  /** Names a keyspace whose id was never used. */
  public VersionEdit addKeyspace(int id, String name) {
    addedKeyspaces.add(new AddedKeyspace(id, name));
    return this;
  }

  /** Removes a keyspace's name; the caller deletes its contents. */
  public VersionEdit dropKeyspace(int id) {
    droppedKeyspaces.add(id);
    return this;
  }

  /** Lower keyspace ids are taken. */
  public VersionEdit nextKeyspace(int id) {
    nextKeyspace = OptionalInt.of(id);
    return this;
  }

  /** See {@link BackupLineage#droppedDelete}. */
  public VersionEdit droppedDelete(long sequence) {
    droppedDelete = Math.max(droppedDelete, sequence);
    return this;
  }

  /**
   * Changes up to this number were never written to the log. In the first edit of a manifest, the
   * log may lack them for any reason.
   */
  public VersionEdit lostChange(long sequence) {
    lostChange = OptionalLong.of(Math.max(lostChange.orElse(0), sequence));
    return this;
  }

  /** A backup that was restored or is being restored. */
  public VersionEdit restored(BackupLineage.Restored backup) {
    restored = backup;
    return this;
  }

  VersionEdit nextSegmentId(long id) {
    nextSegmentId = OptionalLong.of(id);
    return this;
  }

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

  /** Start of the log if not set. */
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

  /** 0 if none. */
  public long droppedDelete() {
    return droppedDelete;
  }

  /** Empty if it follows from the changes of segments alone. */
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

  /** For traces: tables as level:number, without keys. */
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
