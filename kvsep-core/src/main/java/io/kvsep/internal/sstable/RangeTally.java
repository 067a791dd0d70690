package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;

/**
 * Adds up entries of a range of one table. Reads the blocks at the bounds, and at most sixteen of
 * those between, which stand for all of them. Used by one thread, inside the epochs.
 */
public final class RangeTally {
  private static final int SAMPLED_MAX = 16;

  private final TableReader reader;
  private final Lookup scratch;
  private double entries;
  private double keyBytes;
  private double blockBytes;
  private double valueBytes;

  /**
   * A place between two entries.
   *
   * @param block number of the block
   * @param rank number of entries before it in the block
   */
  public record Place(int block, int rank) {}

  RangeTally(TableReader reader, Lookup scratch) {
    this.reader = reader;
    this.scratch = scratch;
  }

  /** Newest entries of their keys, less one for each tombstone, less what these delete. */
  public double entries() {
    return entries;
  }

  /** Bytes of the stored keys of {@link #entries}. */
  public double keyBytes() {
    return keyBytes;
  }

  public double blockBytes() {
    return blockBytes;
  }

  /** Bytes of the log records to which entries point. */
  public double valueBytes() {
    return valueBytes;
  }

  void add(Place from, Place to) {
    if (from.block() == to.block()) {
      addPart(from.block(), from.rank(), to.rank());
      return;
    }
    int first = from.block();
    if (from.rank() > 0) {
      addPart(first, from.rank(), Integer.MAX_VALUE);
      first++;
    }
    if (to.rank() > 0) {
      addPart(to.block(), 0, to.rank());
    }
    addWhole(first, to.block());
  }

  private void addWhole(int first, int limit) {
    int count = limit - first;
    int sampled = Math.min(count, SAMPLED_MAX);
    if (sampled <= 0) {
      return;
    }
    RangeTally sample = new RangeTally(reader, scratch);
    for (int i = 0; i < sampled; i++) {
      int block = first + (int) ((2L * i + 1) * count / (2L * sampled));
      sample.addPart(block, 0, Integer.MAX_VALUE);
    }
    double bytes = reader.index().blockStart(limit) - reader.index().blockStart(first);
    double scale = bytes / sample.blockBytes;
    entries += sample.entries * scale;
    keyBytes += sample.keyBytes * scale;
    blockBytes += bytes;
    valueBytes += sample.valueBytes * scale;
  }

  /** Adds the entries of a block with ranks from one up to another. */
  private void addPart(int number, int fromRank, int toRank) {
    if (fromRank >= toRank) {
      return;
    }
    BlockView block = scratch.block;
    block.enterShared(reader, number, scratch.unpacked);
    int rank = 0;
    int counted = 0;
    int lastKeyLength = -1;
    for (long at = block.start; at < block.limit; at = block.next) {
      block.parse(at);
      int keyLength = block.shared + block.unshared;
      if (rank >= fromRank && rank < toRank) {
        boolean isOlder = block.unshared == 0 && keyLength == lastKeyLength;
        addEntry(block, keyLength, isOlder);
        counted++;
      }
      lastKeyLength = keyLength;
      rank++;
    }
    double length = reader.index().blockEnd(number) - reader.index().blockStart(number);
    blockBytes += length * counted / Math.max(1, rank);
  }

  private void addEntry(BlockView block, int keyLength, boolean isOlder) {
    block.parseTail();
    int kind = Tag.kind(block.tag);
    if (Tag.baseKind(kind) == Tag.POINTER) {
      valueBytes +=
          ValuePointer.recordLength(block.region(), block.payload + Payload.headerLength(kind));
    }
    if (!isOlder) {
      int added = kind == Tag.DELETE ? -1 : 1;
      entries += added;
      keyBytes += added * keyLength;
    }
  }
}
