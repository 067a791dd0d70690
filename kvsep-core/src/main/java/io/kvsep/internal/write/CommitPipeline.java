package io.kvsep.internal.write;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.view.SnapshotRegistry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Orders writes and commits them in groups. The first writer leads: it appends all queued writes to
 * the log with as few I/O calls as possible, syncs once if any of them asks for it, inserts the
 * entries into the memtable, publishes them, and passes leadership on. A lone writer does this on
 * its own thread without waiting.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: groups are applied and published one after the other, so sequence numbers, log order
 *       and visibility agree.
 *   <li>I2: a write that fails before the log is published has not happened, and fails alone: its
 *       bytes are cut off the log and its group is retried one by one. If the cut fails, their
 *       start is zeroed and the log continues in a new segment. Only if that also fails and the
 *       process dies before the next write may recovery find the bytes.
 *   <li>I3: a failure after the log is published fails the store, and so does every {@link Error}
 *       of the leader, except one of a condition.
 * </ul>
 */
public final class CommitPipeline {
  /** Larger groups do not make the single write or sync any cheaper. */
  private static final long GROUP_BYTES_MAX = 1 << 20;

  /** A wait of this length takes about 70 microseconds; a sync takes 400 on the fastest devices. */
  private static final long COMPANION_WAIT_NANOS = 20_000;

  private static final int COMPANION_WAITS = 2;

  private static final int COMPANIONS_MAX = 256;

  /**
   * Spins before a queued writer parks, about ten microseconds. A commit without a sync takes a
   * few; parking and unparking takes several times as long, partly paid by the leader.
   */
  private static final int LOOKS = Runtime.getRuntime().availableProcessors() > 1 ? 300 : 0;

  private final LogTail log;
  private final MemtableWriter index;
  private final Admission admission;
  private final FailureState failure;
  private final SnapshotRegistry snapshots;
  private final DroppedKeyspaces shutKeyspaces;
  private final AtomicLong commits = new AtomicLong();
  private final AtomicLong userBytes = new AtomicLong();

  /**
   * Writes in the order of arrival. Its monitor guards it and the next three fields: entering a
   * monitor allocates nothing, so a leader that ran out of memory can hand over.
   */
  private final List<WriteRequest> queue = new ArrayList<>();

  private int exclusiveWaiters;
  private boolean leading;
  private boolean closed;

  /** Hint to other writers: the leader may take long, for a sync or for space. */
  private volatile boolean held;

  // Fields below are accessed only by the leader.
  private long nextSequence;

  /** Size of the previous group. */
  private int companions;

  /** Pending recovery action; runs before the next commit, which fails if it fails. */
  private @Nullable Runnable duty;

  /** Pending action; runs before the next commit that is not part of a restore. */
  private @Nullable Runnable dutyOfOthers;

  /**
   * @param lastSequence the highest number ever assigned, including to failed writes
   */
  public CommitPipeline(
      LogTail log,
      MemtableWriter index,
      Admission admission,
      FailureState failure,
      SnapshotRegistry snapshots,
      DroppedKeyspaces shutKeyspaces,
      long lastSequence) {
    this.log = log;
    this.index = index;
    this.admission = admission;
    this.failure = failure;
    this.snapshots = snapshots;
    this.shutKeyspaces = shutKeyspaces;
    this.nextSequence = lastSequence + 1;
  }

  /**
   * Commits the request or throws its error. A request that must not wait is left unapplied if it
   * would probably have to.
   */
  void commit(WriteRequest request) {
    boolean lead;
    synchronized (queue) {
      if (closed) {
        throw new StoreClosedException("the store is closed");
      }
      // The exclusive waiter leads next and then hands over to the queue.
      lead = !leading && exclusiveWaiters == 0;
      if (lead) {
        leading = true;
      } else if (!request.mayWait && (held || exclusiveWaiters > 0)) {
        request.applied = false;
        return;
      } else {
        queue.add(request);
      }
    }
    if (lead || request.awaitTurn(request.sync || held ? 0 : LOOKS)) {
      lead(request);
    }
    request.throwIfFailed();
    if (!request.isSettled()) {
      // An Error ended the leader.
      throw failure.fail(new IllegalStateException("a write was left half way"));
    }
  }

  /**
   * Runs the action between two groups: no write is in progress, and none starts before it returns.
   */
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

  /** Called with the monitor held; returns when no thread leads. */
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
   * As {@link #exclusively}, but does nothing if a write is in progress. For actions that are
   * retried later.
   */
  void tryExclusively(Runnable action) {
    synchronized (queue) {
      if (leading) {
        return;
      }
      leading = true;
    }
    runAndHandOver(action);
  }

  /** Whether no number from this one on was ever assigned. Call within {@link #exclusively}. */
  public boolean isUnused(long sequence) {
    return nextSequence <= sequence;
  }

  /**
   * Publishes everything up to {@code sequence} that was installed outside the pipeline; later
   * writes get higher numbers. Call within {@link #exclusively}.
   */
  public void passOver(long sequence, long payloadBytes) {
    nextSequence = sequence + 1;
    userBytes.addAndGet(payloadBytes);
    snapshots.publish(sequence);
  }

  /**
   * Sets work that must succeed before any write; each write tries it. Call within {@link
   * #exclusively}.
   */
  public void firstOfAll(Runnable work) {
    duty = work;
  }

  /** Runs the pending recovery action during close, when no write would. */
  public void settle() {
    exclusively(this::runDuty);
  }

  private void runDuty() {
    Runnable first = duty;
    if (first != null) {
      first.run();
      duty = null;
    }
  }

  /**
   * Sets work that runs once before the next commit that is no restore; null clears it. Call within
   * {@link #exclusively}.
   */
  public void firstOfOthers(@Nullable Runnable work) {
    dutyOfOthers = work;
  }

  /**
   * Runs that work before an installation outside the pipeline. Call within {@link #exclusively}.
   */
  public void beforeOthers() {
    Runnable first = dutyOfOthers;
    if (first != null) {
      first.run();
      dutyOfOthers = null;
    }
  }

  private void beforeOthers(List<WriteRequest> requests) {
    for (int i = 0; dutyOfOthers != null && i < requests.size(); i++) {
      if (!requests.get(i).restores) {
        beforeOthers();
      }
    }
  }

  /** Writes only on a change, so that the cache line stays shared. */
  private void holds(boolean now) {
    if (held != now) {
      held = now;
    }
  }

  private void runAndHandOver(Runnable action) {
    holds(true);
    try {
      action.run();
    } finally {
      handOver();
    }
  }

  /** Refuses new writes; those in progress complete. */
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

  private void lead(WriteRequest first) {
    List<WriteRequest> group = first.group;
    try {
      group.add(first);
      commitGroup(first, group);
    } catch (Error e) {
      // Requests without a result report it.
      failure.fail(e);
    } finally {
      // Before the next leader starts, so that their next writes can join its group.
      for (int i = 0; i < group.size(); i++) {
        group.get(i).complete();
      }
      // A group left empty says nothing about the number of writers.
      companions = group.isEmpty() ? companions : group.size();
      group.clear();
      handOver();
    }
  }

  /**
   * Waits briefly for the previous group's writers to return. Otherwise two halves of the writers
   * would alternate, each waiting for the other's sync. A lone writer never waits; others wait a
   * small part of a sync.
   */
  private void awaitCompanions(WriteRequest first) {
    int expected = Math.min(companions + first.group.size() - 1, COMPANIONS_MAX);
    for (int i = 0; i < COMPANION_WAITS && first.group.size() < expected; i++) {
      Uninterruptibles.pause(COMPANION_WAIT_NANOS);
      gather(first);
    }
  }

  /** Passes leadership to the first exclusive waiter, else to the oldest queued write. */
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

  /**
   * Adds queued writes up to the first conditional one, which leads its own group to see all
   * earlier writes.
   */
  private void gather(WriteRequest first) {
    long bytes = 0;
    for (int i = 0; i < first.group.size(); i++) {
      bytes += first.group.get(i).frame.length();
    }
    synchronized (queue) {
      int taken = 0;
      while (taken < queue.size()
          && queue.get(taken).condition == null
          && queue.get(taken).frame.length() <= GROUP_BYTES_MAX - bytes) {
        bytes += queue.get(taken).frame.length();
        taken++;
      }
      List<WriteRequest> joining = queue.subList(0, taken);
      first.group.addAll(joining);
      joining.clear();
    }
  }

  private void commitGroup(WriteRequest first, List<WriteRequest> group) {
    try {
      if (first.mayWait) {
        gather(first);
      }
      if (first.sync) {
        awaitCompanions(first);
      }
      refuseDropped(group);
      checkCondition(group);
      if (group.isEmpty()) {
        return;
      }
      commitTogether(group);
    } catch (StoreFailedException e) {
      for (WriteRequest request : group) {
        request.fail(e);
      }
    } catch (RuntimeException e) {
      // If one frame failed, the others can still succeed.
      if (group.size() == 1) {
        group.get(0).fail(e);
      } else {
        commitOneByOne(group);
      }
    }
  }

  private void refuseDropped(List<WriteRequest> group) {
    for (int i = group.size() - 1; i >= 0; i--) {
      WriteRequest request = group.get(i);
      if (shutKeyspaces.refuses(request)) {
        request.fail(KeyspaceCatalog.dropped());
        group.remove(i);
        request.complete();
      }
    }
  }

  /** Removes a conditional write from its group unless its condition holds. */
  private void checkCondition(List<WriteRequest> group) {
    WriteRequest first = group.isEmpty() ? null : group.get(0);
    CommitCondition condition = first == null ? null : first.condition;
    if (first == null || condition == null) {
      return;
    }
    try {
      if (holds(condition, first)) {
        return;
      }
      first.leave();
    } catch (RuntimeException e) {
      first.fail(e);
    } catch (Error e) {
      // Nothing was written, so the store stays usable; a value read may exceed the heap.
      first.fail(e);
    } catch (Exception e) {
      // Undeclared checked exception, e.g. from native code.
      first.fail(new StorageException("cannot check a condition", e));
    }
    group.remove(0);
    first.complete();
  }

  private static boolean holds(CommitCondition condition, WriteRequest request) {
    try {
      boolean holds = condition.holds(request);
      // Raises page faults of these reads here, not in the rest of the group.
      Region.requirePagesRead();
      return holds;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  private void commitOneByOne(List<WriteRequest> group) {
    for (WriteRequest request : group) {
      try {
        commitTogether(List.of(request));
      } catch (RuntimeException e) {
        request.fail(e);
      }
    }
  }

  private void commitTogether(List<WriteRequest> requests) {
    failure.check();
    // A write that must not wait leads a group of its own.
    boolean mayWait = requests.size() > 1 || requests.get(0).mayWait;
    if (mayWait) {
      runDuty();
      beforeOthers(requests);
    }
    long logBytes = 0;
    long indexBytes = 0;
    long count = 0;
    boolean sync = false;
    for (int i = 0; i < requests.size(); i++) {
      WriteRequest request = requests.get(i);
      logBytes += request.frame.length();
      indexBytes += request.frame.indexBytes();
      count += request.frame.recordCount();
      sync |= request.sync;
    }
    if (count > Limits.SEQUENCE_MAX - nextSequence) {
      throw new LimitExceededException("sequence numbers are used up");
    }
    admission.decide(logBytes, indexBytes, count);
    if (!mayWait && (duty != null || dutyOfOthers != null || admission.waits())) {
      requests.get(0).leave();
      return;
    }
    holds(sync || admission.waits());
    admission.admit();
    appendToLog(requests);
    try {
      if (sync) {
        log.sync();
      }
      for (int i = 0; i < requests.size(); i++) {
        WriteRequest request = requests.get(i);
        index.insert(request.frame);
        userBytes.addAndGet(request.frame.payloadBytes());
      }
    } catch (RuntimeException | Error e) {
      throw failure.fail(e);
    }
    commits.addAndGet(requests.size());
    snapshots.publish(nextSequence - 1);
    for (int i = 0; i < requests.size(); i++) {
      requests.get(i).settle();
    }
  }

  private void appendToLog(List<WriteRequest> requests) {
    try {
      log.prepare(admission.needsSegment());
      boolean published = false;
      try {
        for (int i = 0; i < requests.size(); i++) {
          WriteRequest request = requests.get(i);
          // Never reuse a number, even of a failed write: recovery recognises the remains of failed
          // writes by their lower numbers.
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
