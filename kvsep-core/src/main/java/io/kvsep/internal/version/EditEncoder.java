package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.VersionEdit.AddedKeyspace;
import io.kvsep.internal.version.VersionEdit.AddedTable;
import io.kvsep.internal.version.VersionEdit.Relocation;
import io.kvsep.internal.version.VersionEdit.RemovedTable;
import io.kvsep.internal.version.VersionEdit.SealedSegment;
import java.nio.charset.StandardCharsets;

/** Encodes one edit, see {@link ManifestFormat}. */
final class EditEncoder {
  private static final int TABLE_FIELDS = 17;
  private static final int USE_FIELDS = 3;

  private final GrowingRegion target;
  private Region region;
  private long position;

  EditEncoder(GrowingRegion target, long offset) {
    this.target = target;
    this.region = target.ensure(offset + 1);
    this.position = offset;
  }

  /** Returns the offset after the edit. */
  long encode(VersionEdit edit) {
    edit.nextFileNumber().ifPresent(number -> put(ManifestFormat.NEXT_FILE_NUMBER, number));
    edit.nextSegmentId().ifPresent(id -> put(ManifestFormat.NEXT_SEGMENT_ID, id));
    edit.lastSequence().ifPresent(sequence -> put(ManifestFormat.LAST_SEQUENCE, sequence));
    LogPosition replayFrom = edit.replayFrom();
    if (replayFrom != null) {
      put(ManifestFormat.REPLAY_FROM, replayFrom.segment(), replayFrom.offset());
    }
    LogPosition syncedLog = edit.syncedLog();
    if (syncedLog.compareTo(LogPosition.START) > 0) {
      put(ManifestFormat.SYNCED_LOG, syncedLog.segment(), syncedLog.offset());
    }
    for (RemovedTable table : edit.removedTables()) {
      put(ManifestFormat.REMOVE_TABLE, table.level(), table.number());
    }
    edit.addedTables().forEach(this::putTable);
    edit.addedSegments().forEach(id -> put(ManifestFormat.ADD_SEGMENT, id));
    for (SealedSegment segment : edit.sealedSegments()) {
      if (segment.lastSequence() == SegmentState.UNKNOWN) {
        put(ManifestFormat.SEAL_SEGMENT, segment.id(), segment.length());
      } else {
        put(ManifestFormat.SEAL_LOG, segment.id(), segment.length(), segment.lastSequence());
      }
    }
    for (SealedSegment file : edit.addedRelocated()) {
      put(ManifestFormat.ADD_RELOCATED, file.id(), file.length());
    }
    for (Relocation relocation : edit.relocations()) {
      put(ManifestFormat.RELOCATE_SEGMENT, relocation.segment(), relocation.file());
    }
    edit.removedSegments().forEach(id -> put(ManifestFormat.REMOVE_SEGMENT, id));
    for (AddedKeyspace keyspace : edit.addedKeyspaces()) {
      put(ManifestFormat.ADD_KEYSPACE, keyspace.id());
      putBytes(keyspace.name().getBytes(StandardCharsets.UTF_8));
    }
    edit.droppedKeyspaces().forEach(id -> put(ManifestFormat.DROP_KEYSPACE, id));
    edit.nextKeyspace().ifPresent(id -> put(ManifestFormat.NEXT_KEYSPACE, id));
    if (edit.droppedDelete() > 0) {
      put(ManifestFormat.DROPPED_DELETE, edit.droppedDelete());
    }
    edit.lostChange().ifPresent(sequence -> put(ManifestFormat.LOST_CHANGE, sequence));
    BackupLineage.Restored restored = edit.restored();
    if (restored != null) {
      put(ManifestFormat.RESTORED);
      putHalves(restored.source().high());
      putHalves(restored.source().low());
      put(restored.since(), restored.until(), restored.sequence());
    }
    return position;
  }

  private void putTable(AddedTable table) {
    TableMeta meta = table.meta();
    byte[] smallest = meta.smallestKey();
    byte[] largest = meta.largestKey();
    long fields = TABLE_FIELDS + (long) USE_FIELDS * meta.segments().size();
    region = target.ensure(position + fields * Varint.BYTES_MAX + smallest.length + largest.length);
    boolean hiding = meta.hiddenCount() > 0;
    int tag = hiding ? ManifestFormat.ADD_HIDING : ManifestFormat.ADD_TABLE;
    put(tag, table.level(), meta.number(), meta.fileBytes());
    putBytes(smallest);
    putBytes(largest);
    put(meta.smallestSequence(), meta.largestSequence(), meta.entryCount());
    put(meta.tombstoneCount(), meta.rangeCount(), meta.keyBytes());
    put(meta.expiringCount(), meta.expiresAtMillisMin(), meta.expiresAtMillisMax());
    if (hiding) {
      put(meta.hiddenCount());
    }
    put(meta.segments().size());
    for (SegmentUse use : meta.segments()) {
      put(use.segment(), use.liveBytes(), use.records());
    }
  }

  /** Writes any 64 bits; a number has 63. */
  private void putHalves(long bits) {
    put(bits >>> 32, bits & 0xffffffffL);
  }

  private void putBytes(byte[] bytes) {
    put(bytes.length);
    region = target.ensure(position + bytes.length);
    region.put(position, bytes, 0, bytes.length);
    position += bytes.length;
  }

  private void put(long... values) {
    region = target.ensure(position + (long) values.length * Varint.BYTES_MAX);
    for (long value : values) {
      position = Varint.put(region, position, value);
    }
  }
}
