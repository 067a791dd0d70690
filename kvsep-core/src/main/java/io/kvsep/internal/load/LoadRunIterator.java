package io.kvsep.internal.load;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.iterator.ForwardIterator;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableReader;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over the tables of one run of a bulk load, optionally limited to a key range. The tables
 * are in no version. One table is open at a time. Not thread safe.
 */
final class LoadRunIterator extends ForwardIterator {
  /**
   * A key range.
   *
   * @param from inclusive lower bound; null for none
   * @param below exclusive upper bound; null for none
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  record KeyRange(byte @Nullable [] from, byte @Nullable [] below) {
    static final KeyRange ALL = new KeyRange(null, null);

    boolean meets(TableMeta table) {
      return (from == null || Arrays.compareUnsigned(table.largestKey(), from) >= 0)
          && (below == null || Arrays.compareUnsigned(table.smallestKey(), below) < 0);
    }
  }

  private final Storage storage;
  private final StoreId storeId;
  private final TableCache cache;
  private final List<TableMeta> tables;
  private final KeyRange keys;
  private final MemoryLedger ledger;

  /** The start or the end of the range. */
  private final GrowingRegion bound;

  /** Length of the end key; negative while no entry can be beyond it. */
  private int boundLength = -1;

  private int entered;
  private @Nullable TableReader reader;
  private @Nullable InternalIterator entries;

  LoadRunIterator(
      Storage storage,
      StoreId storeId,
      TableCache cache,
      List<TableMeta> tables,
      KeyRange keys,
      MemoryLedger ledger) {
    this.storage = storage;
    this.storeId = storeId;
    this.cache = cache;
    this.tables = tables.stream().filter(keys::meets).toList();
    this.keys = keys;
    this.ledger = ledger;
    this.bound = new GrowingRegion(ledger, MemoryPurpose.BULK_LOAD);
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
      endAtBound();
    } else {
      enterNext();
      sourceChanged = true;
    }
  }

  @Override
  public void close() {
    valid = false;
    bound.close();
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
      begin(first);
      adopt(first);
    } catch (IOException e) {
      throw new StorageException("cannot read table " + table.number(), e);
    }
    entered++;
    // The last table may also contain keys after the range.
    byte[] below = keys.below;
    if (below != null && entered == tables.size()) {
      bound.ensure(Math.max(1, below.length)).put(0, below, 0, below.length);
      boundLength = below.length;
      endAtBound();
    }
  }

  private void begin(InternalIterator first) {
    byte[] from = keys.from;
    if (from != null && entered == 0) {
      bound.ensure(Math.max(1, from.length)).put(0, from, 0, from.length);
      first.seek(bound.region(), 0, from.length, Tag.MAX);
    } else {
      first.seekToFirst();
    }
  }

  private void endAtBound() {
    if (boundLength >= 0) {
      valid =
          Region.compare(keyRegion(), keyOffset(), keyLength(), bound.region(), 0, boundLength) < 0;
    }
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
