package io.kvsep;

import io.kvsep.error.StoreClosedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A store that is open, and the threads that use it until it is closed under them. The only error
 * that any of them may get is that it is closed, and only once it is being closed.
 */
final class StressOpening {
  private static final long HANGING_NANOS = TimeUnit.SECONDS.toNanos(60);

  final KvStore store;
  private final AtomicLong writes = new AtomicLong();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closing;
  private volatile @Nullable Throwable failure;

  StressOpening(KvStore store) {
    this.store = store;
  }

  /** Starts a thread that does the same again and again. */
  void start(String name, Consumer<StressOpening> step) {
    Thread thread = new Thread(() -> run(step), name);
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
  }

  private void run(Consumer<StressOpening> step) {
    try {
      while (failure == null) {
        step.accept(this);
      }
    } catch (StoreClosedException e) {
      if (!closing) {
        fail(e);
      }
    } catch (Throwable e) {
      fail(e);
    }
  }

  private synchronized void fail(Throwable e) {
    if (failure == null) {
      failure = e;
    }
    notifyAll();
  }

  void wrote() {
    if (writes.incrementAndGet() % 8 == 0) {
      synchronized (this) {
        notifyAll();
      }
    }
  }

  /** Waits for so many more writes, or until no thread writes any more. */
  synchronized void awaitWrites(int more) {
    long count = writes.get() + more;
    try {
      while (writes.get() < count && !closing && failure == null) {
        wait(50);
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Waits until so much was written in all, the time is over or something failed. */
  synchronized void awaitEnd(long count, long deadlineNanos) throws InterruptedException {
    long before = writes.get();
    long since = System.nanoTime();
    while (writes.get() < count && failure == null && System.nanoTime() - deadlineNanos < 0) {
      wait(50);
      if (writes.get() > before) {
        before = writes.get();
        since = System.nanoTime();
      } else if (System.nanoTime() - since > HANGING_NANOS) {
        // Closing would wait for them, too.
        throw hanging();
      }
    }
    throwFailure();
  }

  private AssertionError hanging() {
    AssertionError hanging = new AssertionError("threads hang");
    for (Thread thread : threads) {
      Throwable where = new Throwable(thread.getName());
      where.setStackTrace(thread.getStackTrace());
      hanging.addSuppressed(where);
    }
    return hanging;
  }

  /** Closes the store under its threads and waits for these to end. */
  void close() throws InterruptedException {
    closing = true;
    store.close();
    synchronized (this) {
      notifyAll();
    }
    for (Thread thread : threads) {
      thread.join(TimeUnit.NANOSECONDS.toMillis(HANGING_NANOS));
      if (thread.isAlive()) {
        fail(hanging());
      }
    }
    throwFailure();
  }

  private void throwFailure() {
    Throwable first = failure;
    if (first != null) {
      throw new AssertionError("a thread failed: " + first, first);
    }
  }
}
