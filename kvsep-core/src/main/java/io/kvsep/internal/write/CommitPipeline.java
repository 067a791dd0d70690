package io.kvsep.internal.write;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.PageFault;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.LogWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Commits writes in order, in groups. The first writer leads: it appends all queued writes to the
 * log, syncs once if any asks for it, inserts the entries into the memtable, publishes them, and
 * passes leadership on. A lone writer never waits.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: groups are applied and published one after the other, so sequence numbers, log order
 *       and visibility agree.
 *   <li>I2: a write that fails before the log is published has not happened, and fails alone: its
 *       bytes are cut off the log and its group is retried one by one. If the cut fails, their
 *       start is zeroed and the log continues in a new segment. Recovery may find the bytes only if
 *       that fails too and the process dies before the next write.
 *   <li>I3: a failure after the log is published fails the store, and so does every {@link Error}
 *       of the leader or of an exclusive action, except one of a condition.
 * </ul>
 */
public final class CommitPipeline {
  /** Larger groups make a write or sync no cheaper. */
  private static final long GROUP_BYTES_MAX = 1 << 20;

  /** Takes about 70 microseconds; a sync takes 400 on the fastest devices. */
  private static final long GROUP_WAIT_NANOS = 20_000;

  private static final int GROUP_WAITS = 2;

  private static final int AWAITED_MAX = 256;

  /**
   * Spins before a queued writer parks, about ten microseconds. A commit without a sync takes a
   * few, parking much longer, partly in the leader.
   */
  private static final int SPINS = Runtime.getRuntime().availableProcessors() > 1 ? 300 : 0;

  private final LogTail logTail;
  private final LogWriter logWriter;
  private final MemtableWriter memtables;
  private final Admission admission;
  private final FailureState failure;
  private final SnapshotRegistry snapshots;
  private final DroppedKeyspaces shutKeyspaces;
  private final AtomicLong commits = new AtomicLong();
  private final AtomicLong userBytes = new AtomicLong();

  /**
   * Writes in order of arrival. Its monitor allocates nothing, so a leader without memory can hand
   * over.
   */
  @GuardedBy("itself")
  private final List<WriteRequest> queue = new ArrayList<>();

  @GuardedBy("queue")
  private int exclusiveWaiters;

  @GuardedBy("queue")
  private boolean leading;

  @GuardedBy("queue")
  private boolean closed;

  /** Hint: the leader may take long, for a sync or for space. */
  private volatile boolean held;

  // Fields below are accessed only by the leader.
  private long nextSequence;

  private int lastGroupSize;

  /** Pending recovery action, without which the next commit fails. */
  private @Nullable Runnable pendingRecovery;

  /**
   * @param lastSequence the highest number ever assigned, including to failed writes
   */
  public CommitPipeline(
      LogTail logTail,
      MemtableWriter memtables,
      Admission admission,
      FailureState failure,
      SnapshotRegistry snapshots,
      DroppedKeyspaces shutKeyspaces,
      long lastSequence) {
    this.logTail = logTail;
    this.logWriter = logTail.logWriter();
    this.memtables = memtables;
    this.admission = admission;
    this.failure = failure;
    this.snapshots = snapshots;
    this.shutKeyspaces = shutKeyspaces;
    this.nextSequence = lastSequence + 1;
  }

  /**
   * Commits the request or throws its error. A request that must not wait may be left unapplied.
   */
  void commit(WriteRequest request) {
    if (awaitLead(request)) {
      List<WriteRequest> group = request.group;
      try {
        gather(request);
        if (request.sync) {
          awaitLastGroup(request);
        }
        if (checkCondition(request)) {
          commitGroup(group);
        }
      } catch (Error e) {
        // Requests without an outcome report it.
        failure.fail(e);
      } finally {
        // Before the next leader starts, so that their next writes can join it.
        complete(group);
        handOver();
      }
    }
    request.throwIfFailed(failure);
  }

  /** Commits the requests together, or each alone if that fails. */
  private void commitGroup(List<WriteRequest> group) {
    try {
      write(group);
    } catch (RuntimeException e) {
      if (group.size() == 1) {
        group.get(0).fail(e);
      } else {
        for (WriteRequest request : group) {
          commitGroup(List.of(request));
        }
      }
    }
  }

  private void write(List<WriteRequest> group) {
    failure.check();
    // A request that must not wait leads a group of its own.
    boolean mayWait = group.size() > 1 || group.get(0).mayWait;
    if (mayWait) {
      runPendingRecovery();
    }
    long logBytes = 0;
    long indexBytes = 0;
    long records = 0;
    long payloadBytes = 0;
    boolean sync = false;
    for (int i = 0; i < group.size(); i++) {
      Frame frame = group.get(i).frame;
      logBytes += frame.length();
      indexBytes += frame.indexBytes();
      records += frame.recordCount();
      payloadBytes += frame.payloadBytes();
      sync |= group.get(i).sync;
    }
    if (records > Limits.SEQUENCE_MAX - nextSequence) {
      throw new LimitExceededException("sequence numbers are used up");
    }
    boolean waits = admission.decide(logBytes, indexBytes, records);
    if (!mayWait && (waits || pendingRecovery != null)) {
      group.get(0).leave();
      return;
    }
    hold(sync || waits);
    admission.admit(mayWait);
    append(group);
    try {
      if (sync) {
        logTail.sync();
      }
      for (int i = 0; i < group.size(); i++) {
        memtables.insert(group.get(i).frame);
      }
    } catch (RuntimeException e) {
      throw failure.fail(e);
    }
    userBytes.addAndGet(payloadBytes);
    commits.addAndGet(group.size());
    snapshots.publish(nextSequence - 1);
    for (int i = 0; i < group.size(); i++) {
      group.get(i).succeed();
    }
  }

  /** Appends and publishes the frames, or leaves nothing of them. */
  private void append(List<WriteRequest> group) {
    try {
      logWriter.begin();
      boolean published = false;
      try {
        for (int i = 0; i < group.size(); i++) {
          Frame frame = group.get(i).frame;
          // Never reuse a number: recovery recognises the remains of failed writes by their lower
          // numbers.
          long first = nextSequence;
          nextSequence += frame.recordCount();
          logWriter.append(frame, first, /* alone= */ group.size() == 1);
        }
        logTail.publish();
        published = true;
      } finally {
        if (!published) {
          logTail.abort();
        }
      }
    } catch (IOException e) {
      throw new StorageException("cannot write the log", e);
    }
  }

  /** Queues the request. True if the calling thread leads, false once there is an outcome. */
  private boolean awaitLead(WriteRequest request) {
    synchronized (queue) {
      if (closed) {
        throw new StoreClosedException("the store is closed");
      }
      // A thread that waits for exclusion leads next.
      if (!leading && exclusiveWaiters == 0) {
        leading = true;
        return true;
      }
      if (!request.mayWait && (held || exclusiveWaiters > 0)) {
        request.leave();
        return false;
      }
      queue.add(request);
    }
    return request.awaitTurn(request.sync || held ? 0 : SPINS);
  }

  /**
   * Adds the leader and queued writes up to the first conditional one, which must see all earlier
   * writes. A write that must not wait is alone.
   */
  private void gather(WriteRequest first) {
    long bytes = 0;
    for (int i = 0; i < first.group.size(); i++) {
      bytes += first.group.get(i).frame.length();
    }
    if (bytes == 0) {
      join(first.group, first);
      bytes = first.frame.length();
    }
    synchronized (queue) {
      while (first.mayWait && !queue.isEmpty()) {
        WriteRequest next = queue.get(0);
        bytes += next.frame.length();
        if (next.condition != null || bytes > GROUP_BYTES_MAX) {
          return;
        }
        // Join first: if that fails, the write stays in the queue.
        join(first.group, next);
        queue.remove(0);
      }
    }
  }

  private void join(List<WriteRequest> group, WriteRequest request) {
    if (shutKeyspaces.refuses(request)) {
      request.fail(KeyspaceCatalog.dropped());
      request.complete();
    } else {
      group.add(request);
    }
  }

  /**
   * Waits a small part of a sync for the previous group's writers, or two halves of the writers
   * would alternate, each waiting for the other's sync. A lone writer never waits.
   */
  private void awaitLastGroup(WriteRequest first) {
    int expected = Math.min(lastGroupSize + first.group.size() - 1, AWAITED_MAX);
    for (int i = 0; i < GROUP_WAITS && first.group.size() < expected; i++) {
      Uninterruptibles.pause(GROUP_WAIT_NANOS);
      gather(first);
    }
  }

  /**
   * Removes a conditional leader unless its condition holds; returns whether the group has
   * requests.
   */
  private boolean checkCondition(WriteRequest first) {
    CommitCondition condition = first.condition;
    List<WriteRequest> group = first.group;
    if (condition != null && !group.isEmpty() && group.get(0) == first) {
      try {
        if (holds(condition, first)) {
          return true;
        }
        first.leave();
      } catch (RuntimeException | Error e) {
        // Nothing was written: the store stays usable, e.g. if a value read exceeds the heap.
        first.fail(e);
      } catch (Exception e) {
        // An undeclared checked exception.
        first.fail(new StorageException("cannot check a condition", e));
      }
      group.remove(0);
    }
    return !group.isEmpty();
  }

  private static boolean holds(CommitCondition condition, WriteRequest request) {
    boolean holds = PageFaults.guard(() -> condition.holds(request));
    // Raises page faults of these reads here, not in the others' writes.
    PageFaults.requireNone();
    return holds;
  }

  private void complete(List<WriteRequest> group) {
    for (int i = 0; i < group.size(); i++) {
      group.get(i).complete();
    }
    // An empty group says nothing about the number of writers.
    lastGroupSize = group.isEmpty() ? lastGroupSize : group.size();
    group.clear();
  }

  /** Hands over to a thread that waits for exclusion, else to the oldest queued write. */
  private void handOver() {
    WriteRequest next = null;
    synchronized (queue) {
      leading = exclusiveWaiters == 0 && !queue.isEmpty();
      if (leading) {
        next = queue.remove(0);
      } else {
        queue.notify();
      }
    }
    if (next != null) {
      next.promote();
    }
  }

  /** Runs the action between two groups, while no write is in progress. */
  public void exclusively(Runnable action) {
    synchronized (queue) {
      exclusiveWaiters++;
      try {
        awaitFree();
      } finally {
        exclusiveWaiters--;
      }
      leading = true;
    }
    runAndHandOver(action);
  }

  @GuardedBy("queue")
  private void awaitFree() {
    boolean interrupted = false;
    while (leading) {
      try {
        queue.wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * As {@link #exclusively}, for actions that are retried later: does nothing if a write is in
   * progress or the store has failed.
   */
  void tryExclusively(Runnable action) {
    synchronized (queue) {
      // A failed store may have inserted half a frame, at which the log ends.
      if (leading || failure.hasFailed()) {
        return;
      }
      leading = true;
    }
    runAndHandOver(action);
  }

  /** Whether no number from this one on was assigned. Call within {@link #exclusively}. */
  public boolean isUnused(long sequence) {
    return nextSequence <= sequence;
  }

  /**
   * Publishes what was installed outside the pipeline; later writes get higher numbers. Call within
   * {@link #exclusively}.
   */
  public void publishInstalled(long sequence, long payloadBytes) {
    nextSequence = sequence + 1;
    userBytes.addAndGet(payloadBytes);
    snapshots.publish(sequence);
  }

  /** Sets what must succeed before any write. Call within {@link #exclusively}. */
  public void requireFirst(Runnable recovery) {
    pendingRecovery = recovery;
  }

  /** Runs the pending recovery action during close. */
  public void recoverNow() {
    exclusively(this::runPendingRecovery);
  }

  private void runPendingRecovery() {
    Runnable first = pendingRecovery;
    if (first != null) {
      first.run();
      pendingRecovery = null;
    }
  }

  /** Writes only changes, so that the cache line stays shared. */
  private void hold(boolean now) {
    if (held != now) {
      held = now;
    }
  }

  private void runAndHandOver(Runnable action) {
    hold(true);
    try {
      action.run();
    } catch (Error e) {
      if (PageFault.is(e)) {
        throw e;
      }
      throw failure.fail(e);
    } finally {
      handOver();
    }
  }

  void close() {
    synchronized (queue) {
      closed = true;
    }
  }

  public long commits() {
    return commits.get();
  }

  public long userBytes() {
    return userBytes.get();
  }
}
