package io.kvsep.internal.read;

import io.kvsep.EntryInfo;
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
 * Point lookups: memtables from newest to oldest, level 0 likewise, then one table per level. The
 * first entry found is the newest, because data only moves down; for the same reason a range
 * tombstone over the key ends the search in its source. Takes no lock and allocates nothing, unless
 * a table's filter has a false positive. The caller is inside the epochs.
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
  boolean find(ReadState view, ReadContext context, long sequence) {
    return locate(view, context, sequence) && isPresent(context);
  }

  StoredValue value(ReadContext context, ValueReader.Use use) {
    Region payload = Objects.requireNonNull(context.payloadRegion);
    int kind = Tag.kind(context.tag);
    int header = Payload.headerLength(kind);
    long offset = context.payloadOffset + header;
    if (Tag.baseKind(kind) == Tag.PUT) {
      context.value.set(payload, offset, context.payloadLength - header);
    } else {
      context.scratch.expectAlone(use);
      values.read(
          payload, offset, context.key(), 0, context.keyLength, context.scratch, context.value);
    }
    return context.value;
  }

  static EntryInfo info(ReadContext context) {
    Region payload = Objects.requireNonNull(context.payloadRegion);
    int kind = Tag.kind(context.tag);
    int header = Payload.headerLength(kind);
    int length =
        Tag.baseKind(kind) == Tag.PUT
            ? context.payloadLength - header
            : ValuePointer.valueLength(payload, context.payloadOffset + header);
    return new EntryInfo(
        Tag.sequence(context.tag),
        length,
        Payload.expiry(Payload.expiresAtMillis(kind, payload, context.payloadOffset)));
  }

  private boolean isPresent(ReadContext context) {
    int kind = Tag.kind(context.tag);
    if (kind == Tag.DELETE) {
      return false;
    }
    if (!Tag.expires(kind)) {
      return true;
    }
    Region payload = Objects.requireNonNull(context.payloadRegion);
    return Payload.expiresAtMillis(kind, payload, context.payloadOffset) > clock.millis();
  }

  private static boolean locate(ReadState view, ReadContext context, long sequence) {
    Region key = context.key();
    int length = context.keyLength;
    long seekTag = Tag.seek(sequence);
    long hash = KeyHash.of(key, 0, length);
    for (Memtable memtable : view.searched) {
      if (memtable.isEmpty()) {
        continue;
      }
      long deleted = memtable.ranges().covering(key, 0, length, sequence);
      int node = memtable.find(key, 0, length, hash, seekTag);
      if (node != 0) {
        context.tag = memtable.tag(node);
        context.payloadRegion = memtable.arena();
        context.payloadOffset = memtable.payloadOffset(node);
        context.payloadLength = memtable.payloadLength(node);
        return Tag.sequence(context.tag) > deleted;
      }
      if (deleted != RangeTombstones.NOTHING) {
        return false;
      }
    }
    Version version = view.version;
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
      if (get(table, reader, context, hash, seekTag, /* last= */ false)) {
        return Tag.sequence(context.tag) > deleted;
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
        return Tag.sequence(context.tag) > deleted;
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
    Lookup lookup = context.lookup;
    boolean found =
        last
            ? reader.getLast(key, 0, length, hash, seekTag, lookup)
            : reader.get(key, 0, length, hash, seekTag, lookup);
    if (!found) {
      return false;
    }
    context.tag = lookup.tag;
    context.payloadRegion = lookup.payloadRegion;
    context.payloadOffset = lookup.payloadOffset;
    context.payloadLength = lookup.payloadLength;
    return true;
  }
}
