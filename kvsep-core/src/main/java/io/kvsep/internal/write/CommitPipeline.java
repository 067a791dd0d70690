package io.kvsep.internal.write;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.concurrent.SafeUnpark;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.vlog.Frame;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Orders writes and carries them out in groups. Whoever comes first leads: it takes what has queued
 * up, appends all of it to the log with as few writes as possible, syncs once if anyone asked for
 * it, puts the entries into the memtable, makes them visible, and hands leadership to the next in
 * the queue. A lone writer does all of that on its own thread without waiting for anybody.
 *
 * <p>Promises: groups are applied and become visible one after the other, so sequence numbers, log
 * order and visibility agree. A write that fails before the log is published has not happened, its
 * bytes are cut off the log, and it fails alone: its group is repeated one by one. (Where even the
 * cut fails, zeros are written over their beginning, and the log goes on in a new segment; only
 * where that fails as well, and the process dies before the next write, may those bytes be found
 * again.) A failure after that point fails the store.
 */
public final class CommitPipeline {
  /** More bytes than this do not make a group's single write or sync any cheaper. */
  private static final long GROUP_BYTES_MAX = 1 << 20;

  /** A sync takes some 400 microseconds on the fastest devices; a wait here about 70. */
  private static final long COMPANION_WAIT_NANOS = 20_000;

  private static final int COMPANION_WAITS = 2;

  /** Only if waking whoever wants to be alone fails, it takes so long. */
  private static final long TURN_WAIT_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(50);

  private static final int COMPANIONS_MAX = 256;

  /**
   * A write that waits for nothing takes a few microseconds, and putting a thread to sleep and
   * waking it up again several times as long, of which the leader pays a part. So whoever is behind
   * such a write looks this often before it sleeps: some ten microseconds.
   */
  private static final int LOOKS = Runtime.getRuntime().availableProcessors() > 1 ? 300 : 0;

  private final LogTail log;
  private final MemtableWriter index;
  private final FailureState failure;
  private final SnapshotRegistry snapshots;
  private final DroppedKeyspaces shutKeyspaces;
  private final AtomicLong commits = new AtomicLong();
  private final AtomicLong userBytes = new AtomicLong();

  /** Guards the next four. */
  private final NonAllocatingLock queueLock = new NonAllocatingLock();

  /** Who wants to be alone, and is woken when nobody leads. */
  private final List<Thread> exclusiveWaiters = new ArrayList<>();

  private final WriteQueue queue = new WriteQueue();
  private boolean leading;
  private boolean closed;

  /** Whether whoever leads may take long: with a sync, or waiting for room. A hint to others. */
  private volatile boolean held;

  // Of the leader.
  private long nextSequence;

  /** Whether a write may have left something in the log. */
  private boolean appending;

  /** Writes in the group before. */
  private int companions;

  /** What has to succeed before anything else is committed. */
  private @Nullable Runnable duty;

  /** What has to succeed before anything is that is no part of a restore. */
  private @Nullable Runnable dutyOfOthers;

  /**
   * @param lastSequence the highest number that was given out, also to a write that failed
   */
  public CommitPipeline(
      LogTail log,
      MemtableWriter index,
      FailureState failure,
      SnapshotRegistry snapshots,
      DroppedKeyspaces shutKeyspaces,
      long lastSequence) {
    this.log = log;
    this.index = index;
    this.failure = failure;
    this.snapshots = snapshots;
    this.shutKeyspaces = shutKeyspaces;
    this.nextSequence = lastSequence + 1;
  }

  /**
   * Commits the request; throws what became of it. One that must not wait is not applied where, as
   * far as one can see, it would have to.
   */
  void commit(WriteRequest request) {
    boolean lead;
    queueLock.lock();
    try {
      if (closed) {
        throw new StoreClosedException("the store is closed");
      }
      // Whoever wants to be alone takes the lead next, and wakes the queue when it is done.
      lead = !leading && exclusiveWaiters.isEmpty();
      if (lead) {
        leading = true;
      } else if (!request.mayWait && (held || !exclusiveWaiters.isEmpty())) {
        request.applied = false;
        return;
      } else {
        queue.add(request);
      }
    } finally {
      queueLock.unlock();
    }
    if (lead || request.awaitTurn(request.sync || held ? 0 : LOOKS)) {
      lead(request);
    }
    request.throwIfFailed();
    if (!request.isSettled()) {
      // Whoever led could not even say so, for lack of memory.
      throw failure.fail(new IllegalStateException("a write was left half way"));
    }
  }

  /**
   * Runs something between two groups, with nobody committing: no write is half done, and none
   * begins until it returns.
   */
  public void exclusively(Runnable action) {
    queueLock.lock();
    try {
      if (leading) {
        awaitTurnAlone();
      }
      leading = true;
    } finally {
      queueLock.unlock();
    }
    runAndHandOver(action);
  }

  /** With the lock, until nobody leads. Not by a condition: see {@link CurrentReadState}. */
  private void awaitTurnAlone() {
    Thread waiter = Thread.currentThread();
    boolean interrupted = false;
    exclusiveWaiters.add(waiter);
    try {
      while (leading) {
        queueLock.unlock();
        try {
          // With the flag set, a pause would also take the permit of the thread that wakes this
          // one.
          interrupted |= Thread.interrupted();
          Uninterruptibles.pause(TURN_WAIT_NANOS_MAX);
        } finally {
          queueLock.lock();
        }
      }
    } finally {
      exclusiveWaiters.remove(waiter);
      if (interrupted) {
        waiter.interrupt();
      }
    }
  }

  /**
   * As {@link #exclusively}, but only if nobody is writing just now; for what can be tried again.
   */
  void tryExclusively(Runnable action) {
    queueLock.lock();
    try {
      if (leading) {
        return;
      }
      leading = true;
    } finally {
      queueLock.unlock();
    }
    runAndHandOver(action);
  }

  /**
   * Whether no number from this one on was ever given out. While nobody else commits: asked from
   * within {@link #exclusively}.
   */
  public boolean isUnused(long sequence) {
    return nextSequence <= sequence;
  }

  /**
   * Makes everything up to a number visible that was put in force by other ways, and gives out
   * higher ones from now on. From within {@link #exclusively}.
   */
  public void passOver(long sequence, long payloadBytes) {
    nextSequence = sequence + 1;
    userBytes.addAndGet(payloadBytes);
    snapshots.publish(sequence);
  }

  /**
   * Refuses all writes until this has succeeded, which each of them tries first. From within {@link
   * #exclusively}.
   */
  public void firstOfAll(Runnable work) {
    duty = work;
  }

  /** Does that where no write will come any more. */
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
   * Has this done once before anything comes into force but writes of a restore; null for nothing.
   * From within {@link #exclusively}.
   */
  public void firstOfOthers(@Nullable Runnable work) {
    dutyOfOthers = work;
  }

  /** Does that for what comes into force by other ways. From within {@link #exclusively}. */
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

  /** Written only when it changes, so that the line stays shared. */
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

  /** Refuses new writes from now on; those under way end as usual. */
  void close() {
    queueLock.lock();
    try {
      closed = true;
    } finally {
      queueLock.unlock();
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
    } finally {
      // Completed before the next leader starts, so that their next writes can join its group.
      for (int i = 0; i < group.size(); i++) {
        group.get(i).complete();
      }
      // One that came back later says nothing of who writes together.
      companions = group.isEmpty() ? companions : group.size();
      group.clear();
      handOver();
    }
  }

  /**
   * Gives those whose writes the last sync covered the time to come back with the next ones:
   * without it two halves of the writers would take turns, each waiting for the other's sync. A
   * lone writer never waits, nor does anybody longer than a small part of what a sync takes.
   */
  private void awaitCompanions(WriteRequest first) {
    int expected = Math.min(companions + first.group.size() - 1, COMPANIONS_MAX);
    for (int i = 0; i < COMPANION_WAITS && first.group.size() < expected; i++) {
      Uninterruptibles.pause(COMPANION_WAIT_NANOS);
      gather(first);
    }
  }

  /** Passes leadership on: first to whoever wants to be alone, else to the oldest write waiting. */
  private void handOver() {
    WriteRequest next = null;
    queueLock.lock();
    try {
      if (!exclusiveWaiters.isEmpty()) {
        leading = false;
        SafeUnpark.wake(exclusiveWaiters.get(0));
      } else {
        next = queue.poll();
        leading = next != null;
      }
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
    long bytes = 0;
    for (int i = 0; i < first.group.size(); i++) {
      bytes += first.group.get(i).frame.length();
    }
    queueLock.lock();
    try {
      WriteRequest next = queue.peek();
      while (next != null
          && next.condition == null
          && next.frame.length() <= GROUP_BYTES_MAX - bytes) {
        // In this order: where there is no memory, it stays in the queue.
        first.group.add(next);
        queue.poll();
        bytes += next.frame.length();
        next = queue.peek();
      }
    } finally {
      queueLock.unlock();
    }
  }

  private void commitGroup(WriteRequest first, List<WriteRequest> group) {
    appending = false;
    try {
      if (first.mayWait) {
        gather(first);
      } else if (wouldWait(first.frame)) {
        first.leave();
        group.remove(0);
        first.complete();
        return;
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
      // Of the device, or of one frame: then the others are not to blame.
      if (group.size() == 1) {
        group.get(0).fail(e);
      } else {
        commitOneByOne(group);
      }
    } catch (Error e) {
      failAll(group, e);
      throw e;
    }
  }

  /** Whoever is not told of it would take his write for done. */
  private void failAll(List<WriteRequest> requests, Error e) {
    if (e instanceof OutOfMemoryError && !appending) {
      // Nothing was written, so there is no reason to trust the store less.
      for (WriteRequest request : requests) {
        request.fail(e);
      }
      return;
    }
    RuntimeException failed = failure.fail(e);
    for (WriteRequest request : requests) {
      request.fail(failed);
    }
  }

  /** Whether committing the frame takes more than writing and inserting it. */
  private boolean wouldWait(Frame frame) {
    return duty != null
        || dutyOfOthers != null
        || log.wouldWait(frame.length())
        || index.wouldWait(frame.length(), frame.indexBytes(), frame.recordCount());
  }

  /** Takes writes to keyspaces that were dropped out of the group. */
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

  /** Takes a conditional write out of its group when its condition does not hold or fails. */
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
      // Nothing was written yet, so there is no reason to trust the store less: what was read may
      // be longer than the heap has room for.
      first.fail(e);
    } catch (Exception e) {
      // One that no method declares, as native code throws them; the group is not to blame either.
      first.fail(new StorageException("cannot check a condition", e));
    }
    group.remove(0);
    first.complete();
  }

  private static boolean holds(CommitCondition condition, WriteRequest request) {
    try {
      boolean holds = condition.holds(request);
      // What it read may not have been there, and the group behind it is not to hear of that.
      Region.requirePagesRead();
      return holds;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  private void commitOneByOne(List<WriteRequest> group) {
    int tried = 0;
    try {
      for (; tried < group.size(); tried++) {
        WriteRequest request = group.get(tried);
        try {
          commitTogether(List.of(request));
        } catch (RuntimeException e) {
          request.fail(e);
        }
      }
    } catch (Error e) {
      failAll(group.subList(tried, group.size()), e);
      throw e;
    }
  }

  private void commitTogether(List<WriteRequest> requests) {
    appending = false;
    failure.check();
    runDuty();
    beforeOthers(requests);
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
    holds(sync || log.wouldWait(logBytes) || index.wouldWait(logBytes, indexBytes, count));
    index.makeRoom(logBytes, indexBytes, count);
    appending = true;
    appendToLog(requests, logBytes);
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

  private void appendToLog(List<WriteRequest> requests, long logBytes) {
    try {
      log.prepare(logBytes);
      boolean published = false;
      try {
        for (int i = 0; i < requests.size(); i++) {
          WriteRequest request = requests.get(i);
          // A number is never used twice, even by a write that failed: recovery tells what
          // remains of a failed write from a later one by its lower number.
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
