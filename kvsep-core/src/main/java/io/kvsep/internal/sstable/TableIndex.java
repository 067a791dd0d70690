package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;

/**
 * Finds the data block for a key, see {@link TableFormat} and {@link IndexBuilder}. A search is a
 * binary search over an array of eight-byte prefixes, which for most keys decides alone; complete
 * separators are compared only among equal prefixes. Immutable; the bytes belong to the table's
 * mapping and their checksum holds.
 */
final class TableIndex {
  private final Region table;
  private final int blockCount;
  private final int commonLength;
  private final long prefixes;
  private final long pairs;
  private final long common;
  private final long separators;

  /**
   * Takes the section [{@code offset}, {@code limit}) of a table.
   *
   * @param dataEnd offset behind the last block
   */
  TableIndex(String file, Region table, long offset, long limit, long dataEnd) {
    long fixed = offset + TableFormat.padding(offset, TableFormat.INDEX_ALIGNMENT);
    this.table = table;
    this.blockCount = table.getInt(fixed);
    this.commonLength = table.getInt(fixed + 4);
    this.prefixes = fixed + 8;
    this.pairs = prefixes + 8L * blockCount;
    this.common = pairs + 8L * blockCount + 8;
    this.separators = common + commonLength;
    if (blockCount < 1
        || common > limit
        || commonLength < 0
        || commonLength > limit - common
        || separatorOffset(blockCount) != limit
        || blockOffset(0) != TableFormat.HEADER_BYTES
        || blockOffset(blockCount) != dataEnd) {
      throw new CorruptionException(
          file,
          offset,
          "an index of " + (limit - offset) + " bytes",
          blockCount + " blocks, common prefix of " + commonLength + " bytes");
    }
  }

  int blockCount() {
    return blockCount;
  }

  /** Where block {@code block} begins, which is where the one before it ends. */
  long blockOffset(int block) {
    return table.getInt(pairs + 8L * block + 4) & 0xffff_ffffL;
  }

  /** The only block that can hold (key, tag), {@link #blockCount} when it is behind all of them. */
  int find(Region key, long offset, int length, long tag) {
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
    int low = lowerBound(prefix);
    if (low == blockCount
        || prefixOf(low) != prefix
        || !isBefore(low, key, rest, restLength, tag)) {
      return low;
    }
    int high = blockCount;
    low++;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (prefixOf(middle) == prefix && isBefore(middle, key, rest, restLength, tag)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** The first block whose prefix is not below {@code prefix}. */
  private int lowerBound(long prefix) {
    int low = 0;
    int count = blockCount;
    // One conditional addition a round, so that the compiler needs no branch to mispredict.
    while (count > 1) {
      int half = count >>> 1;
      low += Long.compareUnsigned(prefixOf(low + half - 1), prefix) < 0 ? half : 0;
      count -= half;
    }
    return Long.compareUnsigned(prefixOf(low), prefix) < 0 ? low + 1 : low;
  }

  private long prefixOf(int block) {
    return table.getLong(prefixes + 8L * block);
  }

  private long separatorOffset(int block) {
    return separators + (table.getInt(pairs + 8L * block) & 0xffff_ffffL);
  }

  /**
   * Whether the separator is before the key, of which the part behind the common prefix is given.
   */
  private boolean isBefore(int block, Region key, long rest, int restLength, long tag) {
    long at = separatorOffset(block);
    long limit = separatorOffset(block + 1);
    long separatorTag = Varint.get(table, at);
    at += Varint.length(separatorTag);
    int order = Region.compare(table, at, (int) (limit - at), key, rest, restLength);
    return order != 0 ? order < 0 : separatorTag > tag;
  }
}
