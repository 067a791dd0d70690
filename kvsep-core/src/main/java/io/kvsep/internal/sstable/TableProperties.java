package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes and reads the properties section, which holds what {@link TableMeta} holds, so that a
 * table can be understood without the manifest; the layout is in {@link TableFormat}. Number and
 * length of the file are not repeated: the header and the file itself tell them.
 */
final class TableProperties {
  private static final int FIXED_BYTES = 60;

  private TableProperties() {}

  /** The section; the caller frees it. */
  static Region encode(TableMeta meta, MemoryLedger ledger) {
    Region target = ledger.allocate(MemoryPurpose.TABLE_BUILD, encodedLength(meta));
    target.putLong(0, meta.entryCount());
    target.putLong(8, meta.tombstoneCount());
    target.putLong(16, meta.keyBytes());
    target.putLong(24, meta.smallestSequence());
    target.putLong(32, meta.largestSequence());
    target.putLong(40, meta.expiresAtMillisMax());
    target.putInt(48, meta.smallestKey().length);
    target.putInt(52, meta.largestKey().length);
    target.putInt(56, meta.segments().size());
    target.put(FIXED_BYTES, meta.smallestKey(), 0, meta.smallestKey().length);
    long at = FIXED_BYTES + (long) meta.smallestKey().length;
    target.put(at, meta.largestKey(), 0, meta.largestKey().length);
    at += meta.largestKey().length;
    for (SegmentUse use : meta.segments()) {
      at = Varint.put(target, at, use.segment());
      at = Varint.put(target, at, use.liveBytes());
      at = Varint.put(target, at, use.records());
    }
    return target;
  }

  /**
   * Reads the section that begins at {@code offset} of a table.
   *
   * @throws IndexOutOfBoundsException when it does not hold together
   */
  static TableMeta decode(Region table, long offset, long number) {
    int smallestLength = keyLength(table, offset + 48);
    int largestLength = keyLength(table, offset + 52);
    int segmentCount = table.getInt(offset + 56);
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
    return new TableMeta(
        number,
        table.length(),
        smallest,
        largest,
        table.getLong(offset + 24),
        table.getLong(offset + 32),
        table.getLong(offset),
        table.getLong(offset + 8),
        table.getLong(offset + 16),
        table.getLong(offset + 40),
        segments);
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

  private static int keyLength(Region table, long at) {
    int length = table.getInt(at);
    if (length < 1 || length > Limits.STORED_KEY_BYTES_MAX) {
      throw new IndexOutOfBoundsException("key of " + length + " bytes");
    }
    return length;
  }
}
