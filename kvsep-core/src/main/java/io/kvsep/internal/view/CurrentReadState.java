package io.kvsep.internal.view;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.ReadState.SharedMemtable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The current read state. Readers get it with one volatile read; changes hold the lock. Threads
 * that need the result of background work wait here for a change.
 */
public final class CurrentReadState {
  /** A waiting thread checks for a failed store after this time. */
  private static final long WAIT_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(50);

  private final Epochs<?> epochs;
  private final Scheduler scheduler;
  private final Supplier<Version> versions;
  private final FailureState failure;
  private final ReentrantLock lock = new ReentrantLock();

  private final Condition changed = lock.newCondition();

  private volatile @Nullable ReadState current;

  @GuardedBy("lock")
  private long markGeneration;

  /** Number of wake-ups. Written under the lock. */
  private volatile long changes;

  private final AtomicLong pinnedMemtableBytes = new AtomicLong();

  public CurrentReadState(
      Epochs<?> epochs, Supplier<Version> versions, Scheduler scheduler, FailureState failure) {
    this.epochs = epochs;
    this.versions = versions;
    this.scheduler = scheduler;
    this.failure = failure;
  }

  /**
   * Valid until the caller's epoch ends. Outside an epoch only its heap fields may be read, and of
   * the memtables the active one by the commit leader and the oldest by the flush.
   */
  public ReadState get() {
    ReadState readState = current;
    if (readState == null) {
      throw new StoreClosedException("the store is closed");
    }
    return readState;
  }

  public boolean isCurrent(ReadState readState) {
    return current == readState;
  }

  public boolean isOpen() {
    return current != null;
  }

  /** The caller must release the returned read state. */
  public ReadState retain() {
    while (true) {
      ReadState readState = get();
      if (readState.tryRetain()) {
        return readState;
      }
    }
  }

  /** Bytes of flushed memtables that cursors and running reads still use. */
  public long pinnedMemtableBytes() {
    return pinnedMemtableBytes.get();
  }

  public void start(List<Memtable> memtablesNewestFirst) {
    change(() -> memtablesNewestFirst.stream().map(this::shared).toList(), null, null);
  }

  /** Makes {@code memtable} the active one; frees it on failure. */
  public void addMemtable(Memtable memtable) {
    change(
        () -> {
          List<SharedMemtable> memtables = new ArrayList<>();
          memtables.add(shared(memtable));
          memtables.addAll(get().memtables);
          return memtables;
        },
        memtable,
        null);
  }

  /** Replaces the active memtable, which is empty, or frees {@code memtable} if that fails. */
  public void replaceActive(Memtable memtable) {
    change(
        () -> {
          List<SharedMemtable> memtables = new ArrayList<>(get().memtables);
          memtables.set(0, shared(memtable));
          return memtables;
        },
        memtable,
        get().active());
  }

  /** Installs the current version, and removes the memtable that it now contains. */
  public void installVersion(@Nullable Memtable flushed) {
    change(
        () -> {
          List<SharedMemtable> memtables = new ArrayList<>();
          for (SharedMemtable shared : get().memtables) {
            if (shared.memtable != flushed) {
              memtables.add(shared);
            }
          }
          return memtables;
        },
        null,
        flushed);
  }

  /** Invalidates all marks ({@link MemtableHighWater}) after a change that is in no memtable. */
  @SuppressWarnings("GuardedBy") // change calls it under the lock
  public void forgetMarks() {
    change(
        () -> {
          markGeneration++;
          return get().memtables;
        },
        null,
        null);
  }

  /** Admits no more reads. The caller drains the epochs next. */
  public void close() {
    ReadState readState = hide();
    if (readState != null) {
      readState.release();
    }
  }

  /**
   * Like {@link #close}, but releases nothing: running operations may use the returned read state.
   */
  public @Nullable ReadState hide() {
    lock.lock();
    try {
      ReadState readState = current;
      current = null;
      wakeAll();
      return readState;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sorts the memtables queued after the one being flushed. Called by threads that wait for their
   * flushes.
   */
  public void prepareFlushes() {
    ReadState readState = retain();
    try {
      for (int i = readState.searched.length - 2; i > 0; i--) {
        readState.searched[i].prepareIterator();
      }
    } finally {
      readState.release();
    }
  }

  /** Wakes all waiting threads to check their conditions. */
  public void signal() {
    lock.lock();
    try {
      wakeAll();
    } finally {
      lock.unlock();
    }
  }

  /** Call before checking a condition; the result goes to {@link #awaitChange}. */
  public long changes() {
    return changes;
  }

  /**
   * Waits a short time for a change, unless there was one after {@code seen}. Preserves the
   * interrupt status. Throws if the store has failed, because the jobs that would bring the change
   * may have ended.
   */
  @SuppressWarnings("WaitNotInLoop") // the caller has the loop
  public void awaitChange(long seen) {
    failure.check();
    if (scheduler.help()) {
      return;
    }
    boolean interrupted = Thread.interrupted();
    lock.lock();
    try {
      if (changes == seen) {
        changed.awaitNanos(WAIT_NANOS_MAX);
      }
    } catch (InterruptedException e) {
      interrupted = true;
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private SharedMemtable shared(Memtable memtable) {
    return new SharedMemtable(memtable, pinnedMemtableBytes);
  }

  /**
   * @param memtables called under the lock
   * @param arriving freed on failure
   */
  private void change(
      Supplier<List<SharedMemtable>> memtables,
      @Nullable Memtable arriving,
      @Nullable Memtable leaving) {
    ReadState previous;
    lock.lock();
    try {
      previous = current;
      if (leaving != null) {
        // Before a writer sees that there is room for another memtable.
        leaving.left();
      }
      try {
        install(memtables.get());
      } finally {
        if (current == previous && arriving != null) {
          arriving.free();
        }
      }
      if (previous != null && leaving != null) {
        pin(previous, leaving);
      }
    } finally {
      lock.unlock();
    }
    if (previous != null) {
      // Without the lock, which writers need: this may delete files.
      previous.release();
    }
  }

  /** A failure changes and retains nothing. */
  @GuardedBy("lock")
  private void install(List<SharedMemtable> memtables) {
    Version version = versions.get();
    while (!version.tryRetain()) {
      version = versions.get();
    }
    boolean installed = false;
    try {
      current = new ReadState(memtables, version, markGeneration, epochs);
      installed = true;
    } finally {
      if (!installed) {
        version.release();
      }
    }
    wakeAll();
  }

  private static void pin(ReadState readState, Memtable leaving) {
    for (SharedMemtable shared : readState.memtables) {
      if (shared.memtable == leaving) {
        shared.pin();
      }
    }
  }

  @GuardedBy("lock")
  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock
  private void wakeAll() {
    changes++;
    changed.signalAll();
  }
}
