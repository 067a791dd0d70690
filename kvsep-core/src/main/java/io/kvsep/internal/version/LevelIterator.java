package io.kvsep.internal.version;

import static java.util.Arrays.compareUnsigned;

import io.kvsep.internal.iterator.EntryLookahead;
import io.kvsep.internal.iterator.HeapEntry;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.KeyLimit;
import io.kvsep.internal.iterator.PrefetchSink;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over a level ordered by key. Opens a table on arrival. Owns the iterators of that table
 * and of the one shown before, whose last payload stays readable. The creator retains a version
 * with the tables.
 */
public final class LevelIterator extends InternalIterator {
  private static final int NO_TABLE = -1;

  private final TableFile[] tables;

  /** Tables outside these indexes are never opened. */
  private final int firstIndex;

  private final int indexLimit;
  private final MemoryLedger ledger;
  private @Nullable InternalIterator current;

  /** Whether the current table has supplied an entry; it may have none. */
  private boolean shown;

  /** Iterator of the table shown before. */
  private @Nullable InternalIterator left;

  private int currentIndex = NO_TABLE;

  /** The array is not modified. */
  public LevelIterator(TableFile[] tables, MemoryLedger ledger) {
    this(tables, 0, tables.length, ledger);
  }

  private LevelIterator(TableFile[] tables, int firstIndex, int indexLimit, MemoryLedger ledger) {
    this.tables = tables;
    this.firstIndex = firstIndex;
    this.indexLimit = indexLimit;
    this.ledger = ledger;
  }

  /** Over the tables that may have keys in [{@code lower}, {@code upper}), possibly none. */
  public static LevelIterator within(
      TableFile[] tables, byte[] lower, byte[] upper, MemoryLedger ledger) {
    int first = count(tables, table -> compareUnsigned(table.meta().largestKey(), lower) < 0);
    int limit = count(tables, table -> compareUnsigned(table.meta().smallestKey(), upper) < 0);
    return new LevelIterator(tables, first, Math.max(first, limit), ledger);
  }

  /** Number of leading tables that match; no later one does. */
  private static int count(TableFile[] tables, Predicate<TableFile> have) {
    int from = 0;
    int limit = tables.length;
    while (from < limit) {
      int middle = (from + limit) >>> 1;
      if (have.test(tables[middle])) {
        from = middle + 1;
      } else {
        limit = middle;
      }
    }
    return from;
  }

  @Override
  public void seekToFirst() {
    valid = false;
    firstFrom(firstIndex);
  }

  @Override
  public void seekToLast() {
    valid = false;
    lastFrom(indexLimit - 1);
  }

  @Override
  public void seek(Region key, long offset, int length, long tag) {
    valid = false;
    int index = firstEndingAtOrAfter(key, offset, length);
    if (index == indexLimit) {
      return;
    }
    InternalIterator table = enter(index);
    table.seek(key, offset, length, tag);
    if (table.isValid()) {
      show(table);
    } else {
      firstFrom(index + 1);
    }
  }

  @Override
  public void seekBefore(Region key, long offset, int length, long tag) {
    valid = false;
    // In a gap between tables the preceding entry is the last of the table before.
    int index = firstEndingAtOrAfter(key, offset, length);
    if (index < indexLimit) {
      InternalIterator table = enter(index);
      table.seekBefore(key, offset, length, tag);
      if (table.isValid()) {
        show(table);
        return;
      }
    }
    lastFrom(index - 1);
  }

  @Override
  public void next() {
    InternalIterator table = entered();
    valid = false;
    table.next();
    if (table.isValid()) {
      show(table);
    } else {
      firstFrom(currentIndex + 1);
    }
  }

  @Override
  public void previous() {
    InternalIterator table = entered();
    valid = false;
    table.previous();
    if (table.isValid()) {
      show(table);
    } else {
      lastFrom(currentIndex - 1);
    }
  }

  @Override
  public void foresee(PrefetchSink sink) {
    entered().foresee(sink);
  }

  @Override
  public @Nullable EntryLookahead ahead(@Nullable KeyLimit limit, long sequenceMax) {
    return entered().ahead(limit, sequenceMax);
  }

  @Override
  public RuntimeException disorder() {
    return entered().disorder();
  }

  @Override
  public void follow(HeapEntry entry) {
    entered().follow(entry);
  }

  @Override
  public void close() {
    valid = false;
    try {
      leave();
    } finally {
      InternalIterator done = left;
      left = null;
      if (done != null) {
        done.close();
      }
    }
  }

  private void firstFrom(int index) {
    for (int i = index; i < indexLimit; i++) {
      InternalIterator table = enter(i);
      table.seekToFirst();
      if (table.isValid()) {
        show(table);
        return;
      }
    }
  }

  private void lastFrom(int index) {
    for (int i = index; i >= firstIndex; i--) {
      InternalIterator table = enter(i);
      table.seekToLast();
      if (table.isValid()) {
        show(table);
        return;
      }
    }
  }

  private int firstEndingAtOrAfter(Region key, long offset, int length) {
    int from = firstIndex;
    int limit = indexLimit;
    while (from < limit) {
      int middle = (from + limit) >>> 1;
      if (key.compareTo(offset, length, tables[middle].meta().largestKey()) > 0) {
        from = middle + 1;
      } else {
        limit = middle;
      }
    }
    return from;
  }

  private InternalIterator enter(int index) {
    InternalIterator table = current;
    if (table != null && currentIndex == index) {
      return table;
    }
    leave();
    table = tables[index].iterator(ledger);
    current = table;
    currentIndex = index;
    return table;
  }

  private void leave() {
    InternalIterator done = current;
    if (shown) {
      done = left;
      left = current;
    }
    shown = false;
    current = null;
    currentIndex = NO_TABLE;
    if (done != null) {
      done.close();
    }
  }

  private void show(InternalIterator table) {
    shown = true;
    adopt(table);
  }

  private InternalIterator entered() {
    InternalIterator table = current;
    if (table == null || !valid) {
      throw new IllegalStateException("the iterator is not valid");
    }
    return table;
  }
}
