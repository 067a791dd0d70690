package io.kvsep.internal.load;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.iterator.ForwardIterator;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableReader;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over the tables of one run, which are in no version. One table is open at a time. Not
 * thread safe.
 */
final class LoadRunIterator extends ForwardIterator {
  private final Storage storage;
  private final StoreId storeId;
  private final TableCache cache;
  private final List<TableMeta> tables;
  private final MemoryLedger ledger;

  private int entered;
  private @Nullable TableReader reader;
  private @Nullable InternalIterator entries;

  LoadRunIterator(
      Storage storage,
      StoreId storeId,
      TableCache cache,
      List<TableMeta> tables,
      MemoryLedger ledger) {
    this.storage = storage;
    this.storeId = storeId;
    this.cache = cache;
    this.tables = tables;
    this.ledger = ledger;
  }

  @Override
  public void seekToFirst() {
    entered = 0;
    enterNext();
  }

  @Override
  public void next() {
    InternalIterator current = entries;
    if (current == null) {
      throw new IllegalStateException("the iterator is not valid");
    }
    current.next();
    if (current.isValid()) {
      adopt(current);
    } else {
      enterNext();
      sourceChanged = true;
    }
  }

  @Override
  public void close() {
    valid = false;
    leave();
  }

  /** Moves to the first entry of the next table; no table is empty. */
  private void enterNext() {
    leave();
    valid = false;
    if (entered == tables.size()) {
      return;
    }
    TableMeta table = tables.get(entered);
    try {
      TableReader opened = TableReader.open(storage, table, storeId, cache);
      reader = opened;
      InternalIterator first = opened.iterator(ledger);
      entries = first;
      first.seekToFirst();
      adopt(first);
    } catch (IOException e) {
      throw new StorageException("cannot read table " + table.number(), e);
    }
    entered++;
  }

  private void leave() {
    InternalIterator left = entries;
    TableReader closed = reader;
    entries = null;
    reader = null;
    CleanupSteps closes = new CleanupSteps();
    if (left != null) {
      closes.run(left::close);
    }
    if (closed != null) {
      closes.run(closed::close);
    }
    closes.throwFirst();
  }
}
