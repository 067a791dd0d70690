package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import java.util.function.Consumer;

/** Open table readers and unpacked blocks of a store. Thread safe. */
public final class TableCache {
  private final ReaderCache<TableReader> readers;
  private final ReaderCache<CachedBlock> blocks;
  private final MemoryLedger ledger;
  private final long unfreedBlockBytesMax;
  private final ColdReadPolicy cold;

  /**
   * @param ledger accounts for the blocks
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
    // The sum may overflow.
    this.unfreedBlockBytesMax = Math.max(blockBytesMax, blockBytesMax + blockBytesMax / 4);
  }

  public ReaderCache<TableReader> readers() {
    return readers;
  }

  /** Tables opened and blocks unpacked into the cache. */
  public long misses() {
    return readers.misses() + blocks.misses();
  }

  /** Requests for tables; lookups count themselves. */
  public long lookups() {
    return readers.lookups();
  }

  /** Whether another block fits, counting those evicted but not freed yet. */
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
