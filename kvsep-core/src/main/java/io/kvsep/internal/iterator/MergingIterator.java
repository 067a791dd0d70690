package io.kvsep.internal.iterator;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Merges iterators in internal order. The valid children form a binary heap with the current entry
 * at the top: a min-heap in a walk forward, a max-heap in a walk back.
 *
 * <p>A change of direction re-seeks all other children around the current entry. A step costs one
 * step of a child and about 2 log2(children) comparisons. Owns and closes its children.
 */
public final class MergingIterator extends InternalIterator {
  private final InternalIterator[] children;
  private final InternalIterator[] heap;
  private final GrowingRegion pivot;
  private int heapCount;

  /** Heap index of the next child after the top; 0 if unknown. */
  private int runnerUp;

  /**
   * Bytes that the keys of top and runner-up shared when last compared. A new top key that shares
   * more with the previous one differs from the runner-up in the same way.
   */
  private int differsAt;

  /** Key of the runner-up, for {@link #ahead}. */
  private final KeyLimit others = new KeyLimit(new byte[64]);

  private boolean forward = true;

  public MergingIterator(List<? extends InternalIterator> children, MemoryLedger ledger) {
    this.children = children.toArray(new InternalIterator[0]);
    this.heap = new InternalIterator[this.children.length];
    this.pivot = new GrowingRegion(ledger, MemoryPurpose.READ);
  }

  @Override
  public void seekToFirst() {
    for (InternalIterator child : children) {
      child.seekToFirst();
    }
    rebuild(/* walkForward= */ true);
  }

  @Override
  public void seekToLast() {
    for (InternalIterator child : children) {
      child.seekToLast();
    }
    rebuild(/* walkForward= */ false);
  }

  @Override
  public void seek(Region key, long offset, int length, long tag) {
    for (InternalIterator child : children) {
      child.seek(key, offset, length, tag);
    }
    rebuild(/* walkForward= */ true);
  }

  @Override
  public void seekBefore(Region key, long offset, int length, long tag) {
    for (InternalIterator child : children) {
      child.seekBefore(key, offset, length, tag);
    }
    rebuild(/* walkForward= */ false);
  }

  @Override
  public void next() {
    InternalIterator current = heap[0];
    if (!forward) {
      turn(current, /* walkForward= */ true);
      return;
    }
    current.next();
    settleTop(current);
  }

  @Override
  public void previous() {
    InternalIterator current = heap[0];
    if (forward) {
      turn(current, /* walkForward= */ false);
      return;
    }
    current.previous();
    settleTop(current);
  }

  /** Reports entries of the current child only. */
  @Override
  public void foresee(PrefetchSink sink) {
    if (forward) {
      heap[0].foresee(sink);
    }
  }

  /** Entries of the current child that precede those of all others. */
  @Override
  public @Nullable EntryLookahead ahead(@Nullable KeyLimit limit, long sequenceMax) {
    if (heapCount == 1) {
      return heap[0].ahead(limit, sequenceMax);
    }
    EntryLookahead entries = heap[0].ahead(others, sequenceMax);
    if (entries == null) {
      return null;
    }
    if (runnerUp == 0) {
      findRunnerUp();
      differsAt = commonKey(heap[0], heap[runnerUp]);
    }
    if (limit != null && !limit.isAbove(heap[runnerUp], differsAt)) {
      return heap[0].ahead(limit, sequenceMax);
    }
    others.put(heap[runnerUp], differsAt);
    return entries;
  }

  @Override
  public void follow(HeapEntry entry) {
    heap[0].follow(entry);
    // The top may share more with the runner-up now.
    runnerUp = 0;
  }

  @Override
  public RuntimeException disorder() {
    return heap[0].disorder();
  }

  /** Index of the child with the current entry. */
  public int currentChild() {
    int index = 0;
    while (children[index] != heap[0]) {
      index++;
    }
    return index;
  }

  /**
   * Moves each child after {@code child} to the key in the direction of the walk, unless it is past
   * it. Requires validity.
   */
  public void leap(int child, Region key, long offset, int length) {
    for (int i = child + 1; i < children.length; i++) {
      InternalIterator moving = children[i];
      if (moving.isValid()) {
        int order = moving.compareTo(key, offset, length, Tag.MAX);
        if (forward && order < 0) {
          moving.seek(key, offset, length, Tag.MAX);
        } else if (!forward && order >= 0) {
          moving.seekBefore(key, offset, length, Tag.MAX);
        }
      }
    }
    rebuild(forward);
  }

  @Override
  public void close() {
    valid = false;
    CleanupSteps closes = new CleanupSteps();
    for (InternalIterator child : children) {
      closes.run(child::close);
    }
    closes.run(pivot::close);
    closes.throwFirst();
  }

  /** Changes direction. */
  private void turn(InternalIterator current, boolean walkForward) {
    int length = keyLength();
    long currentTag = tag();
    Region copy = pivot.ensure(Math.max(1, length));
    copy.put(0, keyRegion(), keyOffset(), length);
    for (InternalIterator child : children) {
      if (child == current) {
        continue;
      }
      if (walkForward) {
        child.seek(copy, 0, length, currentTag);
      } else {
        child.seekBefore(copy, 0, length, currentTag);
      }
    }
    if (walkForward) {
      current.next();
    } else {
      current.previous();
    }
    rebuild(walkForward);
  }

  private void rebuild(boolean walkForward) {
    forward = walkForward;
    heapCount = 0;
    runnerUp = 0;
    for (InternalIterator child : children) {
      if (child.isValid()) {
        heap[heapCount++] = child;
      }
    }
    for (int i = heapCount / 2 - 1; i >= 0; i--) {
      siftDown(i);
    }
    expose(/* stayed= */ false);
  }

  private void settleTop(InternalIterator current) {
    if (!current.isValid()) {
      heap[0] = heap[--heapCount];
      runnerUp = 0;
    }
    if (heapCount > 1 && !isStillFirst()) {
      // The runner-up precedes all others.
      InternalIterator top = heap[0];
      heap[0] = heap[runnerUp];
      heap[runnerUp] = top;
      siftDown(runnerUp);
      // With more than two children, the new runner-up is unknown.
      runnerUp = heapCount == 2 ? 1 : 0;
    }
    expose(heapCount > 0 && heap[0] == current);
  }

  private boolean isStillFirst() {
    // If the runner-up is known, one comparison suffices.
    if (runnerUp == 0) {
      findRunnerUp();
    } else if (forward && heap[0].keyShared() > differsAt) {
      return true;
    }
    differsAt = commonKey(heap[0], heap[runnerUp]);
    int order = compareFrom(differsAt, heap[0], heap[runnerUp]);
    return forward ? order <= 0 : order >= 0;
  }

  private void findRunnerUp() {
    runnerUp = heapCount > 2 && comesFirst(heap[2], heap[1]) ? 2 : 1;
  }

  /**
   * @param stayed whether the previous entry came from the same child
   */
  private void expose(boolean stayed) {
    if (heapCount == 0) {
      valid = false;
    } else {
      adopt(heap[0]);
      sourceChanged |= !stayed;
    }
  }

  private void siftDown(int start) {
    InternalIterator moving = heap[start];
    int at = start;
    while (true) {
      int child = 2 * at + 1;
      if (child >= heapCount) {
        break;
      }
      if (child + 1 < heapCount && comesFirst(heap[child + 1], heap[child])) {
        child++;
      }
      if (!comesFirst(heap[child], moving)) {
        break;
      }
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = moving;
  }

  private boolean comesFirst(InternalIterator a, InternalIterator b) {
    int order = compare(a, b);
    return forward ? order < 0 : order > 0;
  }
}
