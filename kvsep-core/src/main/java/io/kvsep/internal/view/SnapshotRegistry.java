package io.kvsep.internal.view;

import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.concurrent.Ticker;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Sequence numbers somebody may read at. A snapshot is taken and registered under the lock under
 * which jobs read the boundaries, so no job can miss one that it would harm. Also publishes
 * commits: {@link #visibleSequence} is what readers see. Thread safe.
 *
 * <p>Not final: tests put a step between the view and the moment of a read.
 */
public class SnapshotRegistry {
  private final Ticker ticker;
  private final NonAllocatingLock lock = new NonAllocatingLock();

  /** In the order they were taken, which is also the order of their sequence numbers. */
  private final Set<SnapshotLease> holds = new LinkedHashSet<>();

  private final AtomicLong released = new AtomicLong();
  private volatile long visibleSequence;

  public SnapshotRegistry(long visibleSequence, Ticker ticker) {
    this.visibleSequence = visibleSequence;
    this.ticker = ticker;
  }

  /** Everything up to here is committed and in the index. */
  public long visibleSequence() {
    return visibleSequence;
  }

  /** Called by the commit leader only, with ascending numbers. */
  public void publish(long sequence) {
    visibleSequence = sequence;
  }

  /** Takes a snapshot of now, to be given to {@link #release}. */
  public SnapshotLease acquire() {
    lock.lock();
    try {
      SnapshotLease hold = new SnapshotLease(visibleSequence, ticker.nanos());
      holds.add(hold);
      return hold;
    } finally {
      lock.unlock();
    }
  }

  /** Once, however often it is called. */
  public void release(SnapshotLease hold) {
    lock.lock();
    try {
      // In front of the boundaries of every job that may drop what was held.
      hold.release();
      if (holds.remove(hold)) {
        released.incrementAndGet();
      }
    } finally {
      lock.unlock();
    }
  }

  /** How many snapshots were released so far. */
  public long released() {
    return released.get();
  }

  /** Snapshots not released yet. */
  public int open() {
    lock.lock();
    try {
      return holds.size();
    } finally {
      lock.unlock();
    }
  }

  /** For how long the oldest snapshot has been open; 0 when there is none. */
  public long oldestNanos() {
    lock.lock();
    try {
      Iterator<SnapshotLease> oldestFirst = holds.iterator();
      return oldestFirst.hasNext() ? ticker.nanos() - oldestFirst.next().sinceNanos() : 0;
    } finally {
      lock.unlock();
    }
  }

  /** The lowest sequence number somebody may read at; it never falls. */
  public long oldest() {
    return boundaries()[0];
  }

  /** The snapshots' sequence numbers and the visible one, ascending, each once. */
  public long[] boundaries() {
    lock.lock();
    try {
      long visible = visibleSequence;
      long[] boundaries = new long[holds.size() + 1];
      int count = 0;
      for (SnapshotLease hold : holds) {
        boolean known = count > 0 && boundaries[count - 1] == hold.sequence();
        if (!known && hold.sequence() < visible) {
          boundaries[count++] = hold.sequence();
        }
      }
      boundaries[count++] = visible;
      return Arrays.copyOf(boundaries, count);
    } finally {
      lock.unlock();
    }
  }
}
