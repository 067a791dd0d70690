package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;

/**
 * How a table is laid out. Readers need none of it: everything they must know is in the file.
 *
 * @param blockBytes target for a data block; a single larger entry makes a larger block
 * @param restartInterval entries from one complete key to the next
 * @param filterBitsPerKey filter bits for each distinct key
 * @param packsBlocks whether blocks are compressed where that pays
 * @param pieceBytes what is written at once, at multiples of it, and held in memory until then
 * @param loaded whether a bulk load writes it, which the table says then
 * @param storeId the store the table belongs to
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

  /** Of tables that no bulk load writes. */
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

  /** The same without compression. */
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

  /** The same in longer pieces. */
  public TableOptions inPieces(int bytes) {
    return new TableOptions(
        blockBytes, restartInterval, filterBitsPerKey, packsBlocks, bytes, loaded, storeId);
  }

  /** The same for a bulk load. */
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
