package io.kvsep.internal.engine;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Limits;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Orders writes and carries them out in groups. Whoever comes first leads: it takes what has queued
 * up, appends all of it to the log with as few writes as possible, syncs once if anyone asked for
 * it, puts the entries into the memtable, makes them visible, and hands leadership to the next in
 * the queue. A lone writer does all of that on its own thread without waiting for anybody.
 *
 * <p>Promises: groups are applied and become visible one after the other, so sequence numbers, log
 * order and visibility agree. A write that fails before the log is published has not happened, and
 * fails alone: its group is repeated one by one. A failure after that point fails the store.
 */
final class CommitPipeline {
  /** More bytes than this do not make a group's single write or sync any cheaper. */
  private static final long GROUP_BYTES_MAX = 1 << 20;

  private final LogAppender log;
  private final IndexWriter index;
  private final Condition condition;
  private final FailureState failure;
  private final SnapshotRegistry snapshots;
  private final AtomicLong commits = new AtomicLong();
  private final AtomicLong userBytes = new AtomicLong();

  /** Guards the fields below. */
  private final ReentrantLock queueLock = new ReentrantLock();

  private final ArrayDeque<WriteRequest> queue = new ArrayDeque<>();
  private boolean leading;
  private boolean closed;

  // Of the leader.
  private final List<WriteRequest> group = new ArrayList<>();
  private long nextSequence;

  /** Evaluates the condition of a conditional write against everything committed before it. */
  interface Condition {
    boolean holds(WriteRequest request);
  }

  CommitPipeline(
      LogAppender log,
      IndexWriter index,
      Condition condition,
      FailureState failure,
      SnapshotRegistry snapshots) {
    this.log = log;
    this.index = index;
    this.condition = condition;
    this.failure = failure;
    this.snapshots = snapshots;
    this.nextSequence = snapshots.visibleSequence() + 1;
  }

  /** Commits the request; throws what became of it. */
  void commit(WriteRequest request) {
    boolean lead;
    queueLock.lock();
    try {
      if (closed) {
        throw new StoreClosedException("the store is closed");
      }
      lead = !leading;
      if (lead) {
        leading = true;
      } else {
        queue.add(request);
      }
    } finally {
      queueLock.unlock();
    }
    if (lead || request.awaitTurn()) {
      lead(request);
    }
    request.throwIfFailed();
  }

  /**
   * Runs something between two groups, with nobody committing: no write is half done, and none
   * begins until it returns.
   */
  void exclusively(Runnable action) {
    boolean interrupted = false;
    while (true) {
      queueLock.lock();
      try {
        if (!leading) {
          leading = true;
          break;
        }
      } finally {
        queueLock.unlock();
      }
      LockSupport.parkNanos(50_000);
      interrupted |= Thread.interrupted();
    }
    try {
      action.run();
    } finally {
      handOver();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Refuses new writes from now on; those under way end as usual. */
  void close() {
    queueLock.lock();
    try {
      closed = true;
    } finally {
      queueLock.unlock();
    }
  }

  long commits() {
    return commits.get();
  }

  long userBytes() {
    return userBytes.get();
  }

  /** Highest sequence number given out; leader or {@link #exclusively} only. */
  long lastSequence() {
    return nextSequence - 1;
  }

  private void lead(WriteRequest first) {
    group.clear();
    group.add(first);
    gather(first);
    try {
      commitGroup();
    } finally {
      // The group list is the next leader's as soon as leadership is handed over.
      WriteRequest[] done = group.toArray(new WriteRequest[0]);
      handOver();
      for (WriteRequest request : done) {
        request.complete();
      }
    }
  }

  private void handOver() {
    WriteRequest next;
    queueLock.lock();
    try {
      next = queue.poll();
      leading = next != null;
    } finally {
      queueLock.unlock();
    }
    if (next != null) {
      next.promote();
    }
  }

  /**
   * Adds what is waiting. A conditional write leads its own group, so that it sees all before it.
   */
  private void gather(WriteRequest first) {
    long bytes = first.frame.length();
    queueLock.lock();
    try {
      WriteRequest next = queue.peek();
      while (next != null && !next.conditional && next.frame.length() <= GROUP_BYTES_MAX - bytes) {
        group.add(queue.remove());
        bytes += next.frame.length();
        next = queue.peek();
      }
    } finally {
      queueLock.unlock();
    }
  }

  private void commitGroup() {
    try {
      checkCondition();
      if (group.isEmpty()) {
        return;
      }
      commitTogether(group);
    } catch (StorageException e) {
      if (group.size() == 1) {
        group.get(0).fail(e);
      } else {
        commitOneByOne();
      }
    } catch (RuntimeException e) {
      for (WriteRequest request : group) {
        request.fail(e);
      }
    } catch (Error e) {
      RuntimeException failed = failure.fail(e);
      for (WriteRequest request : group) {
        request.fail(failed);
      }
      throw e;
    }
  }

  private void checkCondition() {
    WriteRequest first = group.get(0);
    if (first.conditional && !condition.holds(first)) {
      first.applied = false;
      group.remove(0);
      first.complete();
    }
  }

  private void commitOneByOne() {
    for (WriteRequest request : List.copyOf(group)) {
      try {
        commitTogether(List.of(request));
      } catch (RuntimeException e) {
        request.fail(e);
      }
    }
  }

  private void commitTogether(List<WriteRequest> requests) {
    failure.check();
    long logBytes = 0;
    long indexBytes = 0;
    long count = 0;
    boolean sync = false;
    for (WriteRequest request : requests) {
      logBytes += request.frame.length();
      indexBytes += request.frame.indexBytes();
      count += request.frame.recordCount();
      sync |= request.sync;
    }
    if (count > Limits.SEQUENCE_MAX - nextSequence) {
      throw new LimitExceededException("sequence numbers are used up");
    }
    index.makeRoom(logBytes, indexBytes, count);
    appendToLog(requests, logBytes);
    try {
      if (sync) {
        log.sync();
      }
      for (WriteRequest request : requests) {
        index.insert(request.frame);
        userBytes.addAndGet(request.frame.payloadBytes());
      }
    } catch (RuntimeException | Error e) {
      throw failure.fail(e);
    }
    commits.addAndGet(requests.size());
    snapshots.publish(nextSequence - 1);
  }

  private void appendToLog(List<WriteRequest> requests, long logBytes) {
    try {
      log.prepare(logBytes);
      boolean published = false;
      try {
        for (WriteRequest request : requests) {
          // A number is never used twice, even by a write that failed: recovery tells the remains
          // of
          // a failed write from a later one by its lower number.
          long first = nextSequence;
          nextSequence += request.frame.recordCount();
          log.append(request.frame, first, /* alone= */ requests.size() == 1);
        }
        log.publish();
        published = true;
      } finally {
        if (!published) {
          log.abort();
        }
      }
    } catch (IOException e) {
      throw new StorageException("cannot write the log", e);
    }
  }
}
