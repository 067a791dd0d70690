package io.kvsep.internal.load;

import io.kvsep.internal.concurrent.Uninterruptibles;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A piece of a bulk load's work that another thread may do meanwhile: it is done once, by whoever
 * begins first, so that nothing waits for a thread that there is not. Thread safe.
 */
abstract class LoadTask implements Runnable {
  private final AtomicBoolean begun = new AtomicBoolean();
  private final CountDownLatch done = new CountDownLatch(1);
  private volatile @Nullable Throwable failure;

  /** Does it. */
  abstract void work() throws IOException;

  /** Does it unless somebody has begun; what it throws is kept. */
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

  /** Nobody needs it any more: it is not begun from now on. */
  final void skip() {
    if (begun.compareAndSet(false, true)) {
      done.countDown();
    }
  }

  /** Does it unless somebody has begun, and waits for whoever has. Keeps the interrupt flag. */
  final void await() {
    run();
    Uninterruptibles.await(done);
  }

  /** Throws what it has failed with, if it has. */
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
