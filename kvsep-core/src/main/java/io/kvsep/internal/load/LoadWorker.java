package io.kvsep.internal.load;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Runs parts of a bulk load one after the other on a thread of the load lane, while the load's
 * thread prepares the next one.
 */
final class LoadWorker implements AutoCloseable {
  interface Work {
    void run() throws IOException;
  }

  private final Scheduler scheduler;
  private @Nullable LoadTask current;

  LoadWorker(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  /** First waits for the previous part and throws its exception. */
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
    // Without a free thread, the waiting one runs it.
    scheduler.tryExecute(Lane.LOAD, task);
  }

  /** Throws the exception of the current part if it has failed. */
  void check() throws IOException {
    if (current != null) {
      current.throwIfFailed();
    }
  }

  /** Waits for the last part and throws its exception. */
  void finish() throws IOException {
    LoadTask task = current;
    if (task != null) {
      task.await();
      current = null;
      task.throwIfFailed();
    }
  }

  /** Cancels the last part; waits if it is running. */
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
