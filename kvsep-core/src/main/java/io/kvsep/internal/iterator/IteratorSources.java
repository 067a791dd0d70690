package io.kvsep.internal.iterator;

import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.memory.MemoryLedger;
import java.util.ArrayList;
import java.util.List;

/** Collects iterators; closes them unless they are merged. Not thread safe. */
public final class IteratorSources implements AutoCloseable {
  private final List<InternalIterator> iterators = new ArrayList<>();
  private boolean taken;

  /** Takes ownership; on failure closes the iterator. */
  public void add(InternalIterator iterator) {
    boolean added = false;
    try {
      added = iterators.add(iterator);
    } finally {
      if (!added) {
        iterator.close();
      }
    }
  }

  /** Passes the ownership on, unless this throws. */
  public MergingIterator merge(MemoryLedger ledger) {
    MergingIterator merged = new MergingIterator(iterators, ledger);
    taken = true;
    return merged;
  }

  @Override
  public void close() {
    if (!taken) {
      CleanupSteps closes = new CleanupSteps();
      iterators.forEach(iterator -> closes.run(iterator::close));
      closes.throwFirst();
    }
  }
}
