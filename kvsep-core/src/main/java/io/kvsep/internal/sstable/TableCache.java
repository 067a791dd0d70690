package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import java.util.function.Consumer;

/** What a store keeps of its tables: open readers, and unpacked blocks. Thread safe. */
public final class TableCache {
  private final ReaderCache<TableReader> readers;
  private final ReaderCache<CachedBlock> blocks;
  private final MemoryLedger ledger;
  private final long unfreedBlockBytesMax;
  private final ColdReadPolicy cold;

  /**
   * @param retire runs its argument once nobody is inside the epochs who is inside them now
   * @param ledger pays for the blocks
   * @param cold whether pages of tables are loaded before they are touched
   */
  public TableCache(
      long readerBytesMax,
      long blockBytesMax,
      Consumer<Runnable> retire,
      MemoryLedger ledger,
      ColdReadPolicy cold) {
    this.readers = new ReaderCache<>(readerBytesMax, retire);
    this.blocks = new ReaderCache<>(blockBytesMax, retire);
    this.ledger = ledger;
    this.cold = cold;
    // The sum may be too large for a number.
    this.unfreedBlockBytesMax = Math.max(blockBytesMax, blockBytesMax + blockBytesMax / 4);
  }

  /** Which tables stay open. */
  public ReaderCache<TableReader> readers() {
    return readers;
  }

  /** Tables that had to be opened, and blocks that had to be unpacked to be kept. */
  public long misses() {
    return readers.misses() + blocks.misses();
  }

  /** Tables that were asked for, other than by lookups, which count for themselves. */
  public long lookups() {
    return readers.lookups();
  }

  /**
   * Whether blocks, those included that were evicted and are not freed yet, leave room for more.
   */
  boolean hasRoomForBlock() {
    return ledger.bytes(MemoryPurpose.BLOCK_CACHE) <= unfreedBlockBytesMax;
  }

  ReaderCache<CachedBlock> blocks() {
    return blocks;
  }

  ColdReadPolicy cold() {
    return cold;
  }

  MemoryLedger ledger() {
    return ledger;
  }
}
