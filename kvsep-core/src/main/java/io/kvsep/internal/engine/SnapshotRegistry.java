package io.kvsep.internal.engine;

import java.util.Arrays;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sequence numbers somebody may read at. A snapshot is taken and registered under the lock under
 * which jobs read the boundaries, so no job can miss one that it would harm. Also publishes
 * commits: {@link #visibleSequence} is what readers see. Thread safe.
 */
final class SnapshotRegistry {
  private final ReentrantLock lock = new ReentrantLock();
  private final TreeMap<Long, Integer> countBySequence = new TreeMap<>();
  private volatile long visibleSequence;
  private final AtomicInteger open = new AtomicInteger();

  SnapshotRegistry(long visibleSequence) {
    this.visibleSequence = visibleSequence;
  }

  /** Everything up to here is committed and in the index. */
  long visibleSequence() {
    return visibleSequence;
  }

  /** Called by the commit leader only, with ascending numbers. */
  void publish(long sequence) {
    visibleSequence = sequence;
  }

  /** Takes a snapshot of now; {@link #release} it with the returned sequence number. */
  long acquire() {
    lock.lock();
    try {
      long sequence = visibleSequence;
      countBySequence.merge(sequence, 1, Integer::sum);
      open.incrementAndGet();
      return sequence;
    } finally {
      lock.unlock();
    }
  }

  void release(long sequence) {
    lock.lock();
    try {
      countBySequence.computeIfPresent(sequence, (key, count) -> count == 1 ? null : count - 1);
      open.decrementAndGet();
    } finally {
      lock.unlock();
    }
  }

  /** Snapshots not released yet. */
  int open() {
    return open.get();
  }

  /** The snapshots' sequence numbers and the visible one, ascending, each once. */
  long[] boundaries() {
    lock.lock();
    try {
      long visible = visibleSequence;
      long[] boundaries = new long[countBySequence.size() + 1];
      int count = 0;
      for (long sequence : countBySequence.keySet()) {
        if (sequence < visible) {
          boundaries[count++] = sequence;
        }
      }
      boundaries[count++] = visible;
      return Arrays.copyOf(boundaries, count);
    } finally {
      lock.unlock();
    }
  }
}
