package io.kvsep.internal.view;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.concurrent.Ticker;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The sequence numbers at which readers read. Snapshots register under the lock under which jobs
 * read the boundaries, so no job drops an entry that a snapshot needs. Publishes commits through
 * {@link #visibleSequence}. Thread safe.
 *
 * <p>Not final: tests insert a step between read state and sequence number of a read.
 */
public class SnapshotRegistry {
  private final Ticker ticker;

  /** In the order of acquisition, so ascending. */
  @GuardedBy("this")
  private final Set<SnapshotLease> holds = new LinkedHashSet<>();

  private final AtomicLong released = new AtomicLong();
  private volatile long visibleSequence;

  public SnapshotRegistry(long visibleSequence, Ticker ticker) {
    this.visibleSequence = visibleSequence;
    this.ticker = ticker;
  }

  /** Every commit up to here is in the index. */
  public long visibleSequence() {
    return visibleSequence;
  }

  /** Called only by the commit leader, with ascending numbers. */
  public void publish(long sequence) {
    visibleSequence = sequence;
  }

  /** A lease of the visible sequence number, which the caller must {@link #release}. */
  public synchronized SnapshotLease acquire() {
    SnapshotLease hold = new SnapshotLease(visibleSequence, ticker.nanos());
    holds.add(hold);
    return hold;
  }

  /** Idempotent. */
  public synchronized void release(SnapshotLease hold) {
    // First, before a job reads boundaries without this one and drops entries.
    hold.release();
    if (holds.remove(hold)) {
      released.incrementAndGet();
    }
  }

  public long released() {
    return released.get();
  }

  public synchronized int open() {
    return holds.size();
  }

  /** Age of the oldest snapshot; 0 without one. */
  public synchronized long oldestNanos() {
    Iterator<SnapshotLease> oldestFirst = holds.iterator();
    return oldestFirst.hasNext() ? ticker.nanos() - oldestFirst.next().sinceNanos() : 0;
  }

  /** The lowest readable sequence number. Never decreases. */
  public long oldest() {
    return boundaries()[0];
  }

  /** The distinct numbers of snapshots and the visible one, ascending. */
  public synchronized long[] boundaries() {
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
  }
}
