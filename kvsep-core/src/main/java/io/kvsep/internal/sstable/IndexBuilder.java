package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;

/**
 * Collects one separator per data block for the index section, see {@link TableFormat}: the
 * shortest available key that is not below any key of the block and below every key of the next. If
 * versions of a key continue in the next block, it is that key with the tag of the block's last
 * entry; otherwise its tag is 0, which sorts after every entry of the key. So exactly one block can
 * have what a lookup asks for. Not thread safe.
 */
final class IndexBuilder implements AutoCloseable {
  private static final int TRAILER_BYTES = 8;

  /** Per block: offset u32, key length u32, tag u64, key. */
  private static final int RECORD_FIXED_BYTES = 16;

  private final GrowingRegion records;
  private long recordsEnd;
  private int blockCount;
  private long lastRecord;
  private long separatorBytes;

  IndexBuilder(MemoryLedger ledger) {
    this.records = new GrowingRegion(ledger, MemoryPurpose.TABLE_BUILD);
  }

  /** Estimated length of the section so far. */
  long bytesEstimate() {
    return TableFormat.INDEX_RECORD_BYTES * (blockCount + 1L)
        + 8L * (blockCount / TableFormat.INDEX_GROUP)
        + separatorBytes
        + TRAILER_BYTES;
  }

  /**
   * The block's last key and {@code nextKey} both have byte {@code common} and first differ there.
   */
  void addBetween(
      long blockOffset,
      Region lastKey,
      int lastLength,
      Region nextKey,
      long nextOffset,
      int nextLength,
      int common) {
    int low = lastKey.getByte(common) & 0xff;
    int high = nextKey.getByte(nextOffset + common) & 0xff;
    if (nextLength > common + 1) {
      append(blockOffset, 0, nextKey, nextOffset, common + 1);
    } else if (low + 1 < high) {
      append(blockOffset, 0, lastKey, 0, common + 1);
      records.region().putByte(recordsEnd - 1, (byte) (low + 1));
    } else {
      append(blockOffset, 0, lastKey, 0, lastLength);
    }
  }

  /** The block's last key is its separator. */
  void add(long blockOffset, long tag, Region lastKey, int lastLength) {
    append(blockOffset, tag, lastKey, 0, lastLength);
  }

  private void append(long blockOffset, long tag, Region key, long keyOffset, int keyLength) {
    long at = recordsEnd;
    Region target = records.ensure(at + RECORD_FIXED_BYTES + keyLength);
    target.putInt(at, (int) blockOffset);
    target.putInt(at + 4, keyLength);
    target.putLong(at + 8, tag);
    target.put(at + RECORD_FIXED_BYTES, key, keyOffset, keyLength);
    lastRecord = at;
    recordsEnd = at + RECORD_FIXED_BYTES + keyLength;
    separatorBytes += Varint.length(tag) + keyLength;
    blockCount++;
  }

  /** Length of the section at {@code fileOffset}. */
  long sectionBytes(long fileOffset) {
    return TableFormat.padding(fileOffset, TableFormat.INDEX_ALIGNMENT)
        + bytesEstimate()
        - (long) commonLength() * (blockCount - 1);
  }

  /**
   * @param section zeroed, {@link #sectionBytes} long
   * @param dataEnd end of the last block
   */
  void fill(Region section, long fileOffset, long dataEnd) {
    Region source = records.region();
    int common = commonLength();
    long target = TableFormat.padding(fileOffset, TableFormat.INDEX_ALIGNMENT);
    long sample = target + TableFormat.INDEX_RECORD_BYTES * (blockCount + 1L);
    long separators = sample + 8L * (blockCount / TableFormat.INDEX_GROUP);
    section.put(separators, source, RECORD_FIXED_BYTES, common);
    separators += common;
    long at = separators;
    long record = 0;
    for (int block = 1; block <= blockCount; block++) {
      int keyLength = source.getInt(record + 4);
      long rest = record + RECORD_FIXED_BYTES + common;
      int restLength = keyLength - common;
      long prefix = source.keyPrefix(rest, restLength);
      putRecord(section, target, prefix, at - separators, source.getInt(record));
      at = Varint.put(section, at, source.getLong(record + 8));
      section.put(at, source, rest, restLength);
      at += restLength;
      if (block % TableFormat.INDEX_GROUP == 0) {
        section.putLong(sample, prefix);
        sample += 8;
      }
      target += TableFormat.INDEX_RECORD_BYTES;
      record += RECORD_FIXED_BYTES + keyLength;
    }
    putRecord(section, target, 0, at - separators, (int) dataEnd);
    section.putInt(at, blockCount);
    section.putInt(at + 4, common);
  }

  private static void putRecord(
      Region section, long target, long prefix, long separatorOffset, int blockOffset) {
    section.putLong(target, prefix);
    section.putInt(target + 8, (int) separatorOffset);
    section.putInt(target + 12, blockOffset);
  }

  @Override
  public void close() {
    records.close();
  }

  /** Separators ascend, so all share the common prefix of first and last. */
  private int commonLength() {
    Region region = records.region();
    return Region.commonPrefix(
        region,
        RECORD_FIXED_BYTES,
        region.getInt(4),
        region,
        lastRecord + RECORD_FIXED_BYTES,
        region.getInt(lastRecord + 4));
  }
}
