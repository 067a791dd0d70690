package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;

/**
 * Layout options of a table. Readers need none: the file is self-describing.
 *
 * @param blockBytes target length of a data block; a larger entry makes a larger block
 * @param restartInterval entries per restart
 * @param filterBitsPerKey filter bits per distinct key
 * @param packsBlocks whether blocks are compressed if that pays
 * @param pieceBytes length of aligned writes, buffered in memory
 * @param loaded whether a bulk load writes the table, which records that
 * @param storeId store that the table belongs to
 */
public record TableOptions(
    int blockBytes,
    int restartInterval,
    int filterBitsPerKey,
    boolean packsBlocks,
    int pieceBytes,
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
    if (pieceBytes < Limits.PIECE_BYTES_MIN) {
      throw new IllegalArgumentException("pieceBytes=" + pieceBytes);
    }
  }

  /** Not for a bulk load. */
  public TableOptions(
      int blockBytes,
      int restartInterval,
      int filterBitsPerKey,
      boolean packsBlocks,
      int pieceBytes,
      StoreId storeId) {
    this(
        blockBytes,
        restartInterval,
        filterBitsPerKey,
        packsBlocks,
        pieceBytes,
        /* loaded= */ false,
        storeId);
  }

  /** A copy without compression. */
  public TableOptions unpacked() {
    return new TableOptions(
        blockBytes,
        restartInterval,
        filterBitsPerKey,
        /* packsBlocks= */ false,
        pieceBytes,
        loaded,
        storeId);
  }

  /** A copy with another {@link #pieceBytes}. */
  public TableOptions inPieces(int bytes) {
    return new TableOptions(
        blockBytes, restartInterval, filterBitsPerKey, packsBlocks, bytes, loaded, storeId);
  }

  /** A copy for a bulk load. */
  public TableOptions ofLoad() {
    return new TableOptions(
        blockBytes,
        restartInterval,
        filterBitsPerKey,
        packsBlocks,
        pieceBytes,
        /* loaded= */ true,
        storeId);
  }

  public static TableOptions defaults(StoreId storeId) {
    return new TableOptions(
        4096, 16, 10, /* packsBlocks= */ false, Limits.PIECE_BYTES_MIN, storeId);
  }
}
