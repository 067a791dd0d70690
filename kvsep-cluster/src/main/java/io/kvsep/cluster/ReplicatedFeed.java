package io.kvsep.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.Change;
import io.kvsep.ChangeFeed;
import io.kvsep.error.ChangesLostException;
import io.kvsep.error.StoreClosedException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The changes of the group, read from the log of the local store, where the record of an entry
 * follows its changes. Their numbers are the same on all nodes: the upper bits say how many entries
 * are complete, and the lower ones how many changes of the next entry are. The last change of an
 * entry completes it.
 *
 * <p>If a received snapshot has become the store, the feed goes on in its log. Thread safe; a lock
 * serializes the calls.
 */
final class ReplicatedFeed implements ChangeFeed {
  /** An entry has fewer writes: the longest request has 48 MiB, and a write 13 bytes at least. */
  private static final int CHANGE_BITS = 22;

  private static final long WAIT_NANOS_MIN = 100_000;
  private static final long WAIT_NANOS_MAX = 5_000_000;
  private static final Duration AGES = Duration.ofDays(36_500);

  private final Supplier<GroupStore> live;
  private final ReentrantLock lock = new ReentrantLock();

  /** Number of the last change that was returned, or after which the feed begins. */
  @GuardedBy("lock")
  private long position;

  @GuardedBy("lock")
  private GroupStore store;

  @GuardedBy("lock")
  private ChangeFeed local;

  /** Whether the local feed has passed the end of an entry, so that the next one is complete. */
  @GuardedBy("lock")
  private boolean whole;

  /** Changes of an entry whose record was not read yet. */
  @GuardedBy("lock")
  private final List<Change> entry = new ArrayList<>();

  @GuardedBy("lock")
  private final Deque<Change> ready = new ArrayDeque<>();

  /** Up to where changes are lost, -1 if none are. */
  @GuardedBy("lock")
  private long lost = -1;

  @GuardedBy("lock")
  private boolean closed;

  /**
   * @param live the store of the moment
   * @throws IllegalArgumentException if it has not reached {@code position}
   * @throws ChangesLostException if its log does not have all changes after it
   */
  ReplicatedFeed(Supplier<GroupStore> live, long position) {
    GroupStore now = live.get();
    long last = after(now.committed().index());
    if (position < 0 || position > last) {
      throw new IllegalArgumentException(
          "no change of this node has number " + position + ", it is at " + last);
    }
    this.live = live;
    this.position = position;
    lock.lock();
    try {
      store = now;
      local = open(now);
      findStart();
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private void findStart() {
    try {
      while (!whole && readOn()) {
        requireNotLost();
      }
      requireNotLost();
    } catch (RuntimeException | Error e) {
      local.close();
      throw e;
    }
  }

  /** The number of the last change of an entry, 0 for index -1. */
  static long after(long index) {
    return (index + 1) << CHANGE_BITS;
  }

  @Override
  public @Nullable Change poll() {
    lock.lock();
    try {
      do {
        if (closed) {
          throw new StoreClosedException("the change feed is closed");
        }
        Change next = ready.poll();
        if (next != null) {
          position = next.sequence();
          return next;
        }
        requireNotLost();
      } while (readOn() || lost >= 0);
      return null;
    } finally {
      lock.unlock();
    }
  }

  @Override
  public @Nullable Change poll(Duration atMost) {
    Objects.requireNonNull(atMost, "atMost");
    if (atMost.isNegative()) {
      throw new IllegalArgumentException("atMost must not be negative, is " + atMost);
    }
    long nanosMax = (atMost.compareTo(AGES) < 0 ? atMost : AGES).toNanos();
    long start = System.nanoTime();
    long pause = WAIT_NANOS_MIN;
    while (true) {
      Change change = poll();
      long rest = nanosMax - (System.nanoTime() - start);
      if (change != null || rest <= 0 || Thread.currentThread().isInterrupted()) {
        return change;
      }
      LockSupport.parkNanos(Math.min(rest, pause));
      pause = Math.min(2 * pause, WAIT_NANOS_MAX);
    }
  }

  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      local.close();
    } finally {
      lock.unlock();
    }
  }

  /** From the last known place before the position, else from the oldest change that there is. */
  @GuardedBy("lock")
  private ChangeFeed open(GroupStore now) {
    entry.clear();
    Map.Entry<Long, Long> place = now.places().upTo((position >>> CHANGE_BITS) - 1);
    whole = true;
    return openFrom(now, place == null ? 0 : place.getValue());
  }

  @GuardedBy("lock")
  private ChangeFeed openFrom(GroupStore now, long sequence) {
    long from = sequence;
    while (true) {
      try {
        return now.store().changes(from);
      } catch (ChangesLostException e) {
        whole = false;
        from = e.lostSequence();
      }
    }
  }

  /** Reads a local change; false if there is none yet. */
  @GuardedBy("lock")
  private boolean readOn() {
    GroupStore now = live.get();
    try {
      if (now != store) {
        local.close();
        local = open(now);
        store = now;
      }
      long last = now.lastChange();
      Change next = local.poll();
      if (next == null && now.syncChanges()) {
        next = local.poll();
      }
      if (next != null) {
        accept(next);
        return true;
      }
      if (!whole && entry.isEmpty()) {
        // Nothing is left of the changes up to here, not even a record.
        end(last);
      }
      return false;
    } catch (ChangesLostException e) {
      entry.clear();
      local.close();
      local = openFrom(now, e.lostSequence());
      whole = false;
      return true;
    } catch (StoreClosedException e) {
      if (live.get() == now) {
        throw e;
      }
      return true;
    }
  }

  @GuardedBy("lock")
  private void accept(Change change) {
    if (!GroupStore.isRecord(change)) {
      entry.add(change);
    } else if (change.kind() == Change.Kind.PUT) {
      end(GroupStore.recordedIndex(change.value()));
    }
  }

  /** All changes of an entry were read, or are lost. */
  @GuardedBy("lock")
  private void end(long index) {
    long wanted = position >>> CHANGE_BITS;
    if (!whole && index >= wanted && store.lastChange() >= wanted) {
      lost = after(index);
    } else if (index >= wanted) {
      long first = index == wanted ? position & ((1 << CHANGE_BITS) - 1) : 0;
      int count = entry.size();
      for (int i = (int) Math.min(first, count); i < count; i++) {
        boolean last = i == count - 1;
        long number = last ? after(index) : after(index - 1) + i + 1;
        ready.add(entry.get(i).numbered(number, last));
      }
    }
    whole = true;
    entry.clear();
  }

  @GuardedBy("lock")
  private void requireNotLost() {
    if (lost >= 0) {
      throw new ChangesLostException(position, lost);
    }
  }
}
