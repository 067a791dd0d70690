package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Decodes one edit of a manifest. The region has the file from its start, so errors name file
 * offsets. Checks only the form: no length exceeds the edit.
 */
final class EditDecoder {
  private final Region region;
  private final String file;
  private final long limit;
  private long position;

  EditDecoder(Region region, String file, long offset, long length) {
    this.region = region;
    this.file = file;
    this.limit = offset + length;
    this.position = offset;
  }

  VersionEdit decode() {
    VersionEdit edit = new VersionEdit();
    while (position < limit) {
      long at = position;
      long tag = number();
      if (tag > ManifestFormat.LAST_TAG) {
        throw new IncompatibleFormatException(
            file, Reason.TOO_NEW, "edit tag " + tag + " at offset " + at);
      }
      switch ((int) tag) {
        case ManifestFormat.NEXT_FILE_NUMBER -> edit.nextFileNumber(number());
        case ManifestFormat.NEXT_SEGMENT_ID -> edit.nextSegmentId(number());
        case ManifestFormat.LAST_SEQUENCE -> edit.lastSequence(number());
        case ManifestFormat.REPLAY_FROM -> edit.replayFrom(new LogPosition(number(), number()));
        case ManifestFormat.SYNCED_LOG -> edit.syncedLog(new LogPosition(number(), number()));
        case ManifestFormat.ADD_TABLE -> edit.addTable(level(), table(/* hiding= */ false));
        case ManifestFormat.ADD_HIDING -> edit.addTable(level(), table(/* hiding= */ true));
        case ManifestFormat.REMOVE_TABLE -> edit.removeTable(level(), number());
        case ManifestFormat.ADD_SEGMENT -> edit.addSegment(number());
        case ManifestFormat.SEAL_SEGMENT ->
            edit.sealSegment(number(), number(), SegmentState.UNKNOWN);
        case ManifestFormat.SEAL_LOG -> edit.sealSegment(number(), number(), number());
        case ManifestFormat.LOST_CHANGE -> edit.lostChange(number());
        case ManifestFormat.REMOVE_SEGMENT -> edit.removeSegment(number());
        case ManifestFormat.ADD_RELOCATED -> edit.addRelocated(number(), number());
        case ManifestFormat.RELOCATE_SEGMENT -> edit.relocateSegment(number(), number());
        case ManifestFormat.ADD_KEYSPACE -> edit.addKeyspace(keyspace(), name());
        case ManifestFormat.DROP_KEYSPACE -> edit.dropKeyspace(keyspace());
        case ManifestFormat.NEXT_KEYSPACE -> edit.nextKeyspace(keyspace());
        case ManifestFormat.DROPPED_DELETE -> edit.droppedDelete(number());
        case ManifestFormat.RESTORED ->
            edit.restored(
                new BackupLineage.Restored(
                    new StoreId(halves(), halves()), number(), number(), number()));
        default -> throw new CorruptionException(file, at, "an edit tag", "tag " + tag);
      }
    }
    return edit;
  }

  private TableMeta table(boolean hiding) {
    long number = number();
    long fileBytes = number();
    byte[] smallest = key();
    byte[] largest = key();
    long smallestSequence = number();
    long largestSequence = number();
    long entryCount = number();
    long tombstoneCount = number();
    long rangeCount = number();
    long keyBytes = number();
    long expiringCount = number();
    long expiresAtMillisMin = number();
    long expiresAtMillisMax = number();
    long hiddenCount = hiding ? number() : 0;
    return new TableMeta(
        number,
        fileBytes,
        smallest,
        largest,
        smallestSequence,
        largestSequence,
        entryCount,
        tombstoneCount,
        hiddenCount,
        rangeCount,
        keyBytes,
        expiringCount,
        expiresAtMillisMin,
        expiresAtMillisMax,
        uses());
  }

  private List<SegmentUse> uses() {
    long count = number();
    List<SegmentUse> uses = new ArrayList<>();
    // A wrong count runs into the limit; nothing is allocated for it.
    for (long i = 0; i < count; i++) {
      uses.add(new SegmentUse(number(), number(), number()));
    }
    return uses;
  }

  private int level() {
    long at = position;
    long level = number();
    if (level >= Version.LEVELS) {
      throw new CorruptionException(file, at, "a level below 7", "level " + level);
    }
    return (int) level;
  }

  private byte[] key() {
    return bytes(Limits.STORED_KEY_BYTES_MAX, "a key");
  }

  private String name() {
    return new String(bytes(Limits.KEYSPACE_NAME_BYTES_MAX, "a name"), StandardCharsets.UTF_8);
  }

  private byte[] bytes(int lengthMax, String what) {
    long at = position;
    long length = number();
    if (length == 0 || length > lengthMax || length > limit - position) {
      throw new CorruptionException(file, at, what, "length " + length);
    }
    byte[] bytes = region.getBytes(position, (int) length);
    position += length;
    return bytes;
  }

  private long halves() {
    long at = position;
    long high = number();
    long low = number();
    if (high >>> 32 != 0 || low >>> 32 != 0) {
      throw new CorruptionException(file, at, "two numbers below 2^32", high + " and " + low);
    }
    return high << 32 | low;
  }

  private int keyspace() {
    long at = position;
    long id = number();
    if (id <= Keyspaces.DEFAULT || id == Integer.MAX_VALUE || id != (int) id) {
      throw new CorruptionException(file, at, "the id of a keyspace", "id " + id);
    }
    return (int) id;
  }

  /** Reads a varint that ends inside the edit, is non-negative and has the shortest form. */
  private long number() {
    long at = position;
    long value = 0;
    int shift = 0;
    while (position < limit && shift < 63) {
      byte next = region.getByte(position++);
      value |= (next & 0x7fL) << shift;
      if (next >= 0) {
        if (position - at != Varint.length(value)) {
          break;
        }
        return value;
      }
      shift += 7;
    }
    throw new CorruptionException(file, at, "a number", "bytes that are none");
  }
}
