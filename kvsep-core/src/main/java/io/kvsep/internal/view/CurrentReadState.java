package io.kvsep.internal.view;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.concurrent.SafeUnpark;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.ReadState.SharedMemtable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The current view and the ways it changes. Readers read it with one volatile read; changes happen
 * under the state lock. Writers that wait for background work are a list of threads, not those of a
 * condition, whose signals may need an object on Java 17: telling them must not need memory.
 */
public final class CurrentReadState {
  private static final long WAIT_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(50);

  private final Epochs<?> epochs;
  private final Scheduler scheduler;
  private final Supplier<Version> versions;
  private final NonAllocatingLock lock = new NonAllocatingLock();

  /** Who waits for a change; guarded by the lock. */
  private final List<Thread> waiting = new ArrayList<>();

  private volatile @Nullable ReadState current;

  /** Guarded by the lock. */
  private long markEpoch;

  /** How often waiters were told to look again; guarded by the lock. */
  private long changes;

  /** Bytes of memtables that no reader finds any more, until they are freed. */
  private final AtomicLong pinnedMemtableBytes = new AtomicLong();

  public CurrentReadState(Epochs<?> epochs, Supplier<Version> versions, Scheduler scheduler) {
    this.epochs = epochs;
    this.versions = versions;
    this.scheduler = scheduler;
  }

  /** The view to read, once inside the epochs. */
  public ReadState get() {
    ReadState view = current;
    if (view == null) {
      throw new StoreClosedException("the store is closed");
    }
    return view;
  }

  public boolean isCurrent(ReadState view) {
    return current == view;
  }

  public boolean isOpen() {
    return current != null;
  }

  /** The current view with a reference that the caller must release. */
  public ReadState retain() {
    while (true) {
      ReadState view = get();
      if (view.tryRetain()) {
        return view;
      }
    }
  }

  /** Memory of flushed memtables that open cursors and running reads still work with. */
  public long pinnedMemtableBytes() {
    return pinnedMemtableBytes.get();
  }

  public void start(List<Memtable> memtablesNewestFirst) {
    change(() -> memtablesNewestFirst.stream().map(this::shared).toList(), null, null);
  }

  /** Makes {@code memtable} the active one; where there is no memory for that it is freed. */
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

  /** Takes over the current version, and lets go of a memtable that is in it now. */
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

  /**
   * Something has changed that stands in no memtable: no {@link MemtableHighWater} made before
   * tells any more what has come since.
   */
  public void forgetMarks() {
    change(
        () -> {
          markEpoch++;
          return get().memtables;
        },
        null,
        null);
  }

  /** From now on nobody finds anything; the caller drains the epochs next. */
  public void close() {
    ReadState view = hide();
    if (view != null) {
      view.release();
    }
  }

  /** As {@link #close}, but gives nothing back: somebody may be at work with it. */
  public @Nullable ReadState hide() {
    lock.lock();
    try {
      ReadState view = current;
      current = null;
      wakeAll();
      return view;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Does what can be done ahead of the flushes of memtables that wait behind the one that is being
   * flushed. For threads that have to wait for them.
   */
  public void prepareFlushes() {
    ReadState view = retain();
    try {
      for (int i = view.searched.length - 2; i > 0; i--) {
        view.searched[i].prepareIterator();
      }
    } finally {
      view.release();
    }
  }

  /** Wakes whoever waits, to look at the world again. */
  public void signal() {
    lock.lock();
    try {
      wakeAll();
    } finally {
      lock.unlock();
    }
  }

  /** To be asked before looking at the world, for {@link #awaitChange}. */
  public long changes() {
    lock.lock();
    try {
      return changes;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits a little for background work to change something, unless something has changed since
   * {@link #changes} returned {@code seen}. Keeps the interrupt flag.
   */
  public void awaitChange(long seen) {
    if (scheduler.help()) {
      return;
    }
    Thread waiter = Thread.currentThread();
    try {
      if (enlist(waiter, seen)) {
        Uninterruptibles.pause(WAIT_NANOS_MAX);
      }
    } finally {
      strike(waiter);
    }
  }

  /** Whether nothing has changed since, so that the next change wakes the thread. */
  private boolean enlist(Thread waiter, long seen) {
    lock.lock();
    try {
      return changes == seen && waiting.add(waiter);
    } finally {
      lock.unlock();
    }
  }

  private void strike(Thread waiter) {
    lock.lock();
    try {
      waiting.remove(waiter);
    } finally {
      lock.unlock();
    }
  }

  private SharedMemtable shared(Memtable memtable) {
    return new SharedMemtable(memtable, pinnedMemtableBytes);
  }

  /**
   * @param memtables of the next view; asked under the lock
   * @param arriving is one of them for the first time
   * @param leaving is not one of them any more
   */
  private void change(
      Supplier<List<SharedMemtable>> memtables,
      @Nullable Memtable arriving,
      @Nullable Memtable leaving) {
    ReadState previous;
    lock.lock();
    try {
      previous = current;
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
      // Without the lock, on which writers wait: with the last view of a version go its files.
      previous.release();
    }
  }

  /** Where there is no memory for the next view, the one before stays, and nothing is kept. */
  private void install(List<SharedMemtable> memtables) {
    Version version = versions.get();
    while (!version.tryRetain()) {
      version = versions.get();
    }
    boolean installed = false;
    try {
      current = new ReadState(memtables, version, markEpoch, epochs);
      installed = true;
    } finally {
      if (!installed) {
        version.release();
      }
    }
    wakeAll();
  }

  /** Makes nothing: the view is to be released whatever memory there is. */
  private static void pin(ReadState view, Memtable leaving) {
    for (int i = 0; i < view.memtables.size(); i++) {
      SharedMemtable shared = view.memtables.get(i);
      if (shared.memtable == leaving) {
        shared.pin();
      }
    }
  }

  /** Under the lock; makes nothing. */
  private void wakeAll() {
    changes++;
    for (int i = 0; i < waiting.size(); i++) {
      SafeUnpark.wake(waiting.get(i));
    }
    waiting.clear();
  }
}
