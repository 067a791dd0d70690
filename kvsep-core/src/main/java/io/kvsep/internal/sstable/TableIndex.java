package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;

/**
 * Finds the data block for a key, see {@link TableFormat} and {@link IndexBuilder}. Each block has
 * a record: an eight-byte prefix of its separator, and the offsets of both. A binary search over
 * the last prefixes of the groups, few and adjacent, finds a group. In it the smaller prefixes are
 * counted: these loads are independent, and bring in the block's offset too. Full separators are
 * compared only among equal prefixes. Immutable; the bytes belong to the table's mapping and are
 * verified.
 */
final class TableIndex implements BlockPlaces {
  private final TableBytes bytes;
  private final Region table;
  private final int blockCount;
  private final int commonLength;

  /** Complete groups; the sample has the last prefix of each. */
  private final int sampleCount;

  private final long records;
  private final long sample;
  private final long common;
  private final long separators;

  /**
   * @param dataEnd end of the last block
   */
  TableIndex(TableBytes bytes, long offset, long limit, long dataEnd) {
    this.bytes = bytes;
    this.table = bytes.mapping();
    this.records = offset + TableFormat.padding(offset, TableFormat.INDEX_ALIGNMENT);
    this.blockCount = table.getInt(limit - 8);
    this.commonLength = table.getInt(limit - 4);
    this.sampleCount = blockCount / TableFormat.INDEX_GROUP;
    this.sample = records + TableFormat.INDEX_RECORD_BYTES * (blockCount + 1L);
    this.common = sample + 8L * sampleCount;
    this.separators = common + commonLength;
    long separatorsEnd = limit - 8;
    if (blockCount < 1
        || common > separatorsEnd
        || commonLength < 0
        || commonLength > separatorsEnd - common
        || separatorOffset(blockCount) != separatorsEnd
        || blockStart(0) != TableFormat.HEADER_BYTES
        || blockStart(blockCount) != dataEnd) {
      throw new CorruptionException(
          bytes.name(),
          offset,
          "an index of " + (limit - offset) + " bytes",
          blockCount + " blocks, common prefix of " + commonLength + " bytes");
    }
  }

  @Override
  public int blockCount() {
    return blockCount;
  }

  /** {@link #blockCount} yields where the last block ends. */
  @Override
  public long blockStart(int block) {
    return table.getInt(record(block) + 12) & 0xffff_ffffL;
  }

  @Override
  public long blockEnd(int block) {
    return blockStart(block + 1);
  }

  /**
   * The only block that can have (key, tag); {@link #blockCount} if it is after all blocks. The
   * record found and the next one are readable.
   *
   * @throws InternalError before an unreadable page of the table is used
   */
  int find(Region key, long offset, int length, long tag, NativeWindow window) {
    // The common prefix follows the sample.
    bytes.require(sample, separators - sample, window);
    int matched = Region.commonPrefix(table, common, commonLength, key, offset, length);
    if (matched < commonLength) {
      boolean before =
          matched == length
              || (key.getByte(offset + matched) & 0xff) < (table.getByte(common + matched) & 0xff);
      return before ? 0 : blockCount;
    }
    long rest = offset + commonLength;
    int restLength = length - commonLength;
    long prefix = key.keyPrefix(rest, restLength);
    int low = lowerBound(prefix, window);
    if (low == blockCount
        || prefixOf(low) != prefix
        || !isBefore(low, key, rest, restLength, tag, window)) {
      return low;
    }
    int high = blockCount;
    low++;
    while (low < high) {
      int middle = (low + high) >>> 1;
      loadRecords(middle, 1);
      requireRecords(middle, 1, window);
      if (prefixOf(middle) == prefix && isBefore(middle, key, rest, restLength, tag, window)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    loadRecords(low, 1);
    requireRecords(low, 1, window);
    return low;
  }

  private int lowerBound(long prefix, NativeWindow window) {
    int group = 0;
    int count = sampleCount;
    // One conditional addition per round, so that the compiler needs no branch.
    while (count > 0) {
      int half = (count + 1) >>> 1;
      long last = table.getLong(sample + 8L * (group + half - 1));
      group += Long.compareUnsigned(last, prefix) < 0 ? half : 0;
      count -= half;
    }
    int block = group * TableFormat.INDEX_GROUP;
    int limit = Math.min(block + TableFormat.INDEX_GROUP, blockCount);
    int smaller = 0;
    // The record after the group may be the result.
    loadRecords(block, limit - block + 1);
    requireRecords(block, limit - block + 1, window);
    for (int i = block; i < limit; i++) {
      smaller += Long.compareUnsigned(prefixOf(i), prefix) < 0 ? 1 : 0;
    }
    return block + smaller;
  }

  /** In a cold store, loads these records and the next one. */
  void loadRecords(int block, int count) {
    int limit = Math.min(block + count, blockCount);
    bytes.load(record(block), TableFormat.INDEX_RECORD_BYTES * (limit - block + 1L));
  }

  /** Ensures that these records and the next one, if any, are readable. */
  void requireRecords(int block, int count, NativeWindow window) {
    int limit = Math.min(block + count, blockCount);
    window.requireReadable(
        table, record(block), TableFormat.INDEX_RECORD_BYTES * (limit - block + 1L));
  }

  private long record(int block) {
    return records + TableFormat.INDEX_RECORD_BYTES * (long) block;
  }

  private long prefixOf(int block) {
    return table.getLong(record(block));
  }

  private long separatorOffset(int block) {
    return separators + (table.getInt(record(block) + 8) & 0xffff_ffffL);
  }

  /**
   * @param rest the key after the common prefix
   */
  private boolean isBefore(
      int block, Region key, long rest, int restLength, long tag, NativeWindow window) {
    long at = separatorOffset(block);
    long limit = separatorOffset(block + 1);
    bytes.require(at, limit - at, window);
    long separatorTag = Varint.get(table, at);
    at += Varint.length(separatorTag);
    int order = Region.compare(table, at, (int) (limit - at), key, rest, restLength);
    return order != 0 ? order < 0 : separatorTag > tag;
  }
}
