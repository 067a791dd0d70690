package io.kvsep.internal.sstable;

import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

/** One store's part of {@link OpenTables}. Thread safe. */
public final class TableCache {
  private final OpenTables shared;
  private final Consumer<Runnable> retire;
  private final MemoryLedger ledger;
  private final ColdReadPolicy cold;
  private final LongAdder lookups = new LongAdder();
  private final LongAdder misses = new LongAdder();

  /**
   * @param ledger accounts for the blocks
   */
  public TableCache(
      long readerBytesMax,
      long blockBytesMax,
      Consumer<Runnable> retire,
      MemoryLedger ledger,
      ColdReadPolicy cold) {
    this(new OpenTables(readerBytesMax, blockBytesMax), retire, ledger, cold);
  }

  /**
   * @param retire runs its argument once all threads now inside the store's epochs have left
   * @param ledger accounts for the blocks
   * @param cold whether pages of tables are loaded before they are read
   */
  public TableCache(
      OpenTables shared, Consumer<Runnable> retire, MemoryLedger ledger, ColdReadPolicy cold) {
    this.shared = shared;
    this.retire = retire;
    this.ledger = ledger;
    this.cold = cold;
  }

  /** As {@link ReaderCache#opened}. */
  public void opened(ReaderCache.Holder<TableReader> table, TableReader reader) {
    misses.increment();
    shared.readers().opened(table, reader);
  }

  /** As {@link ReaderCache#closed}. */
  public void closed(ReaderCache.Holder<TableReader> table) {
    shared.readers().closed(table);
  }

  /** As {@link ReaderCache#used}. */
  public void used(ReaderCache.Holder<TableReader> table) {
    shared.readers().used(table);
  }

  /** For callers that do not count lookups themselves. */
  public void countLookup() {
    lookups.increment();
  }

  /** Tables opened and blocks unpacked into the cache. */
  public long misses() {
    return misses.sum();
  }

  /** Requests for tables; lookups count themselves. */
  public long lookups() {
    return lookups.sum();
  }

  boolean hasRoomForBlock() {
    return shared.hasRoomForBlock();
  }

  void unpacked(CachedBlock block) {
    misses.increment();
    shared.blocks().opened(block, block);
  }

  void closed(CachedBlock block) {
    shared.blocks().closed(block);
  }

  void used(CachedBlock block) {
    shared.blocks().used(block);
  }

  void addBlockBytes(long bytes) {
    shared.addBlockBytes(bytes);
  }

  /** Drops the first pin of an evicted reader once no thread can have just found it. */
  void retire(ReaderCache.Reader evicted) {
    retire.accept(evicted::unpin);
  }

  ColdReadPolicy cold() {
    return cold;
  }

  MemoryLedger ledger() {
    return ledger;
  }
}
