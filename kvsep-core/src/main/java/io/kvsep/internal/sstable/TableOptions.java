package io.kvsep.internal.sstable;

import io.kvsep.internal.base.StoreId;

/**
 * Layout options of a table. Readers need none: the file is self-describing.
 *
 * @param blockBytes target length of a data block; a larger entry makes a larger block
 * @param filterBitsPerKey per distinct key
 * @param packsBlocks compresses blocks if that pays
 * @param loaded whether a bulk load writes the table, which records that
 */
public record TableOptions(
    int blockBytes,
    int restartInterval,
    int filterBitsPerKey,
    boolean packsBlocks,
    boolean loaded,
    StoreId storeId) {

  public TableOptions {
    if (blockBytes < 64 || blockBytes > 1 << 24) {
      throw new IllegalArgumentException("blockBytes=" + blockBytes);
    }
    if (restartInterval < 1) {
      throw new IllegalArgumentException("restartInterval=" + restartInterval);
    }
    if (filterBitsPerKey < 1 || filterBitsPerKey > 64) {
      throw new IllegalArgumentException("filterBitsPerKey=" + filterBitsPerKey);
    }
  }

  /** Not for a bulk load. */
  public TableOptions(
      int blockBytes,
      int restartInterval,
      int filterBitsPerKey,
      boolean packsBlocks,
      StoreId storeId) {
    this(blockBytes, restartInterval, filterBitsPerKey, packsBlocks, /* loaded= */ false, storeId);
  }

  public TableOptions unpacked() {
    return new TableOptions(
        blockBytes, restartInterval, filterBitsPerKey, /* packsBlocks= */ false, loaded, storeId);
  }

  public TableOptions ofLoad() {
    return new TableOptions(
        blockBytes, restartInterval, filterBitsPerKey, packsBlocks, /* loaded= */ true, storeId);
  }

  public static TableOptions defaults(StoreId storeId) {
    return new TableOptions(4096, 16, 10, /* packsBlocks= */ false, storeId);
  }
}
