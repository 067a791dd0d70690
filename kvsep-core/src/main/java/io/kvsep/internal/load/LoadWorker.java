package io.kvsep.internal.load;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Has the pieces of a bulk load's work done one after the other by a thread of the load lane, while
 * the load's own prepares the next one. Used by that one.
 */
final class LoadWorker implements AutoCloseable {
  /** What is to be done. */
  interface Work {
    void run() throws IOException;
  }

  private final Scheduler scheduler;
  private @Nullable LoadTask current;

  LoadWorker(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /** Hands a piece over; first waits for the one before, and throws what that has failed with. */
  void hand(Work work) throws IOException {
    finish();
    LoadTask task =
        new LoadTask() {
          @Override
          void work() throws IOException {
            work.run();
          }
        };
    current = task;
    // Where there is no thread it is done by whoever waits for it.
    scheduler.tryExecute(Lane.LOAD, task);
  }

  /** Throws what the piece at work has failed with, if it has already. */
  void check() throws IOException {
    if (current != null) {
      current.throwIfFailed();
    }
  }

  /** Waits for the last piece, and throws what it has failed with. */
  void finish() throws IOException {
    LoadTask task = current;
    if (task != null) {
      task.await();
      current = null;
      task.throwIfFailed();
    }
  }

  /** The last piece is not needed any more; returns when nobody is at work with it. */
  @Override
  public void close() {
    LoadTask task = current;
    if (task != null) {
      current = null;
      task.skip();
      task.await();
    }
  }
}
