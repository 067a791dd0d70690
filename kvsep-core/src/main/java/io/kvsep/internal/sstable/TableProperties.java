package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Codec of the properties section, see {@link TableFormat}: the {@link TableMeta}, so that a table
 * is usable without the manifest. File number and length come from the header and the file.
 */
final class TableProperties {
  private static final int FIXED_BYTES = 80;

  private TableProperties() {}

  /**
   * The caller frees the section.
   *
   * @param loaded whether a bulk load wrote the table, which then has no hidden entries
   */
  static Region encode(
      TableMeta meta, RangeTombstones ranges, boolean loaded, MemoryLedger ledger) {
    boolean hides = meta.hiddenCount() > 0 || loaded;
    Region target =
        ledger.allocate(
            MemoryPurpose.TABLE_BUILD,
            encodedLength(meta)
                + encodedLength(ranges)
                + (hides ? Varint.length(meta.hiddenCount()) : 0));
    target.putLong(0, meta.entryCount());
    target.putLong(8, meta.tombstoneCount());
    target.putLong(16, meta.keyBytes());
    target.putLong(24, meta.smallestSequence());
    target.putLong(32, meta.largestSequence());
    target.putLong(40, meta.expiringCount());
    target.putLong(48, meta.expiresAtMillisMin());
    target.putLong(56, meta.expiresAtMillisMax());
    target.putInt(64, meta.smallestKey().length);
    target.putInt(68, meta.largestKey().length);
    target.putInt(72, meta.segments().size());
    target.putInt(76, ranges.count());
    target.put(FIXED_BYTES, meta.smallestKey(), 0, meta.smallestKey().length);
    long at = FIXED_BYTES + (long) meta.smallestKey().length;
    target.put(at, meta.largestKey(), 0, meta.largestKey().length);
    at += meta.largestKey().length;
    for (SegmentUse use : meta.segments()) {
      at = Varint.put(target, at, use.segment());
      at = Varint.put(target, at, use.liveBytes());
      at = Varint.put(target, at, use.records());
    }
    for (int i = 0; i < ranges.count(); i++) {
      at = putKey(target, at, ranges.start(i));
      at = putKey(target, at, ranges.end(i));
      at = Varint.put(target, at, ranges.sequences(i).length);
      for (long sequence : ranges.sequences(i)) {
        at = Varint.put(target, at, sequence);
      }
    }
    if (hides) {
      Varint.put(target, at, meta.hiddenCount());
    }
    return target;
  }

  /**
   * @param end of the section
   * @throws IndexOutOfBoundsException if it is malformed
   */
  static Contents decode(Region table, long offset, long end, long number) {
    int smallestLength = keyLength(table, offset + 64);
    int largestLength = keyLength(table, offset + 68);
    int segmentCount = table.getInt(offset + 72);
    int rangeCount = table.getInt(offset + 76);
    long at = offset + FIXED_BYTES;
    byte[] smallest = table.getBytes(at, smallestLength);
    at += smallestLength;
    byte[] largest = table.getBytes(at, largestLength);
    at += largestLength;
    List<SegmentUse> segments = new ArrayList<>();
    for (int i = 0; i < segmentCount; i++) {
      long segment = Varint.get(table, at);
      at += Varint.length(segment);
      long liveBytes = Varint.get(table, at);
      at += Varint.length(liveBytes);
      long records = Varint.get(table, at);
      at += Varint.length(records);
      segments.add(new SegmentUse(segment, liveBytes, records));
    }
    RangeTombstones ranges = decodeRanges(table, at, rangeCount);
    long hiddenAt = at + encodedLength(ranges);
    long hiddenCount = decodeHidden(table, hiddenAt, end);
    TableMeta meta =
        new TableMeta(
            number,
            table.length(),
            smallest,
            largest,
            table.getLong(offset + 24),
            table.getLong(offset + 32),
            table.getLong(offset),
            table.getLong(offset + 8),
            hiddenCount,
            rangeCount,
            table.getLong(offset + 16),
            table.getLong(offset + 40),
            table.getLong(offset + 48),
            table.getLong(offset + 56),
            segments);
    return new Contents(meta, ranges, hiddenCount == 0 && hiddenAt < end);
  }

  record Contents(TableMeta meta, RangeTombstones ranges, boolean loaded) {}

  private static RangeTombstones decodeRanges(Region table, long start, int count) {
    RangeTombstones.Builder ranges = new RangeTombstones.Builder();
    long at = start;
    byte[] behind = {};
    for (int i = 0; i < count; i++) {
      int startLength = requireKeyLength(Varint.getInt(table, at));
      at += Varint.length(startLength);
      byte[] from = table.getBytes(at, startLength);
      at += startLength;
      int endLength = requireKeyLength(Varint.getInt(table, at));
      at += Varint.length(endLength);
      byte[] to = table.getBytes(at, endLength);
      at += endLength;
      int sequenceCount = Varint.getInt(table, at);
      at += Varint.length(sequenceCount);
      if (Arrays.compareUnsigned(behind, from) > 0
          || Arrays.compareUnsigned(from, to) >= 0
          || sequenceCount < 1
          || sequenceCount > table.length() - at) {
        throw new IndexOutOfBoundsException("deleted range " + i + " of " + count);
      }
      long[] sequences = new long[sequenceCount];
      for (int j = 0; j < sequenceCount; j++) {
        sequences[j] = Varint.get(table, at);
        at += Varint.length(sequences[j]);
      }
      ranges.add(from, to, sequences);
      behind = to;
    }
    RangeTombstones built = ranges.build();
    if (built.count() != count) {
      throw new IndexOutOfBoundsException(count + " deleted ranges");
    }
    return built;
  }

  /** Optional, after the deleted ranges. */
  private static long decodeHidden(Region table, long at, long end) {
    if (at == end) {
      return 0;
    }
    long count = at < end ? Varint.get(table, at) : -1;
    if (count < 0 || Varint.length(count) != end - at) {
      throw new IndexOutOfBoundsException("properties that end at " + at + " instead of " + end);
    }
    return count;
  }

  private static long putKey(Region target, long at, byte[] key) {
    long next = Varint.put(target, at, key.length);
    target.put(next, key, 0, key.length);
    return next + key.length;
  }

  private static long encodedLength(TableMeta meta) {
    long length = FIXED_BYTES + (long) meta.smallestKey().length + meta.largestKey().length;
    for (SegmentUse use : meta.segments()) {
      length +=
          Varint.length(use.segment())
              + Varint.length(use.liveBytes())
              + Varint.length(use.records());
    }
    return length;
  }

  private static long encodedLength(RangeTombstones ranges) {
    long length = 0;
    for (int i = 0; i < ranges.count(); i++) {
      length += Varint.length(ranges.start(i).length) + (long) ranges.start(i).length;
      length += Varint.length(ranges.end(i).length) + (long) ranges.end(i).length;
      length += Varint.length(ranges.sequences(i).length);
      for (long sequence : ranges.sequences(i)) {
        length += Varint.length(sequence);
      }
    }
    return length;
  }

  private static int keyLength(Region table, long at) {
    return requireKeyLength(table.getInt(at));
  }

  private static int requireKeyLength(int length) {
    if (length < 1 || length > Limits.STORED_KEY_BYTES_MAX) {
      throw new IndexOutOfBoundsException("key of " + length + " bytes");
    }
    return length;
  }
}
