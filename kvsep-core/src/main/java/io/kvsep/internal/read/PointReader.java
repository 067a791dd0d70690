package io.kvsep.internal.read;

import io.kvsep.EntryInfo;
import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.Lookup;
import io.kvsep.internal.sstable.TableReader;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.vlog.StoredValue;
import io.kvsep.internal.vlog.ValueReader;
import java.time.Clock;
import java.util.Objects;

/**
 * Point lookups: memtables and level 0 from newest to oldest, then one table per level. Data only
 * moves down, so the first entry found is the newest, and a range tombstone over the key ends the
 * search in its source. Takes no lock and allocates nothing, unless a table's filter has a false
 * positive. The caller is inside the epochs.
 */
final class PointReader {
  private final ValueReader values;
  private final Clock clock;

  PointReader(ValueReader values, Clock clock) {
    this.values = values;
    this.clock = clock;
  }

  /**
   * Finds the newest entry of the context's key at or below {@code sequence}.
   *
   * @return whether it exists and is neither a tombstone nor expired; the context then holds it
   */
  boolean find(ReadState readState, ReadContext context, long sequence) {
    if (!locate(readState, context, sequence)) {
      return false;
    }
    int kind = Tag.kind(context.lookup.tag);
    if (!Tag.expires(kind)) {
      return kind != Tag.DELETE;
    }
    Region payload = Objects.requireNonNull(context.lookup.payloadRegion);
    return Payload.expiresAtMillis(kind, payload, context.lookup.payloadOffset) > clock.millis();
  }

  StoredValue value(ReadContext context, ValueReader.Use use) {
    Lookup found = context.lookup;
    Region payload = Objects.requireNonNull(found.payloadRegion);
    int kind = Tag.kind(found.tag);
    int header = Payload.headerLength(kind);
    long offset = found.payloadOffset + header;
    if (Tag.baseKind(kind) == Tag.PUT) {
      context.value.set(payload, offset, found.payloadLength - header);
    } else {
      Region key = context.key();
      context.scratch.expectAlone(use);
      values.read(payload, offset, key, 0, context.keyLength, context.scratch, context.value);
    }
    return context.value;
  }

  static EntryInfo info(ReadContext context) {
    Lookup found = context.lookup;
    Region payload = Objects.requireNonNull(found.payloadRegion);
    long expiry = Payload.expiresAtMillis(Tag.kind(found.tag), payload, found.payloadOffset);
    return new EntryInfo(Tag.sequence(found.tag), valueLength(context), Payload.expiry(expiry));
  }

  static int valueLength(ReadContext context) {
    Lookup found = context.lookup;
    int kind = Tag.kind(found.tag);
    int header = Payload.headerLength(kind);
    return Tag.baseKind(kind) == Tag.PUT
        ? found.payloadLength - header
        : ValuePointer.valueLength(
            Objects.requireNonNull(found.payloadRegion), found.payloadOffset + header);
  }

  private static boolean locate(ReadState readState, ReadContext context, long sequence) {
    Region key = context.key();
    int length = context.keyLength;
    long seekTag = Tag.seek(sequence);
    long hash = KeyHash.of(key, 0, length);
    for (Memtable memtable : readState.searched) {
      if (memtable.isEmpty()) {
        continue;
      }
      long deleted = memtable.ranges().covering(key, 0, length, sequence);
      int node = memtable.find(key, 0, length, hash, seekTag);
      if (node != 0) {
        memtable.read(node, context.lookup);
        return Tag.sequence(context.lookup.tag) > deleted;
      }
      if (deleted != RangeTombstones.NOTHING) {
        return false;
      }
    }
    Version version = readState.version;
    if (version.tableCount() == 0) {
      return false;
    }
    for (TableFile table : version.tables(0)) {
      // A corrupt table must not make keys outside it unreadable.
      TableReader reader = table.readerFor(key, 0, length);
      if (reader == null) {
        continue;
      }
      long deleted = deletedAt(table, key, length, sequence);
      boolean isFound;
      try {
        isFound = get(table, reader, context, hash, seekTag, /* last= */ false);
      } catch (CorruptionException e) {
        if (table.covers(key, 0, length)) {
          throw e;
        }
        isFound = false;
      }
      if (isFound) {
        return Tag.sequence(context.lookup.tag) > deleted;
      }
      if (deleted != RangeTombstones.NOTHING) {
        return false;
      }
    }
    int lastLevel = version.lastLevel();
    for (int level = 1; level <= lastLevel; level++) {
      TableFile table = version.find(level, key, 0, length);
      if (table == null) {
        continue;
      }
      long deleted = deletedAt(table, key, length, sequence);
      if (get(table, table.reader(), context, hash, seekTag, level == lastLevel)) {
        return Tag.sequence(context.lookup.tag) > deleted;
      }
      if (deleted != RangeTombstones.NOTHING) {
        return false;
      }
    }
    return false;
  }

  private static long deletedAt(TableFile table, Region key, int length, long sequence) {
    return table.meta().rangeCount() == 0
        ? RangeTombstones.NOTHING
        : table.rangeTombstones().covering(key, 0, length, sequence);
  }

  private static boolean get(
      TableFile table,
      TableReader reader,
      ReadContext context,
      long hash,
      long seekTag,
      boolean last) {
    if (context.countTableRead()) {
      table.used();
    }
    Region key = context.key();
    int length = context.keyLength;
    return last
        ? reader.getLast(key, 0, length, hash, seekTag, context.lookup)
        : reader.get(key, 0, length, hash, seekTag, context.lookup);
  }
}
