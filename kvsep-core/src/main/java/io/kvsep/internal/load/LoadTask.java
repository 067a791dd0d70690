package io.kvsep.internal.load;

import io.kvsep.internal.concurrent.Uninterruptibles;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A part of a bulk load that another thread may run. It runs once, on the first thread that starts
 * it, so no thread waits for an unavailable one. Thread safe.
 */
abstract class LoadTask implements Runnable {
  private final AtomicBoolean begun = new AtomicBoolean();
  private final CountDownLatch done = new CountDownLatch(1);
  private volatile @Nullable Throwable failure;

  abstract void work() throws IOException;

  /** Runs the task unless it has started; keeps its exception. */
  @Override
  public final void run() {
    if (!begun.compareAndSet(false, true)) {
      return;
    }
    try {
      work();
    } catch (IOException | RuntimeException | Error e) {
      failure = e;
    } finally {
      done.countDown();
    }
  }

  /** Cancels the task unless it has started. */
  final void skip() {
    if (begun.compareAndSet(false, true)) {
      done.countDown();
    }
  }

  /** Runs the task unless it has started, else waits for it. Keeps the interrupt status. */
  final void await() {
    run();
    Uninterruptibles.await(done);
  }

  final void throwIfFailed() throws IOException {
    Throwable thrown = failure;
    if (thrown instanceof IOException e) {
      throw e;
    }
    if (thrown instanceof RuntimeException e) {
      throw e;
    }
    if (thrown instanceof Error e) {
      throw e;
    }
  }
}
