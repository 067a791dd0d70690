package io.kvsep.internal.iterator;

import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.memory.MemoryLedger;
import java.util.ArrayList;
import java.util.List;

/**
 * Iterators on their way into a {@link MergingIterator}: closes them all if that point is never
 * reached. Not thread safe.
 */
public final class IteratorSources implements AutoCloseable {
  private final List<InternalIterator> iterators = new ArrayList<>();
  private boolean taken;

  /** Takes an iterator over; where there is no memory for that it is closed. */
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

  /** Hands the iterators over to a merge, which closes them from now on if it could be made. */
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
