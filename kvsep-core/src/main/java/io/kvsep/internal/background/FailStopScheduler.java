package io.kvsep.internal.background;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.PageFault;

/**
 * A scheduler whose tasks fail the store if they throw an {@link Error}, as memory may have run out
 * anywhere and left anything half done. A page fault is no such Error, and readers handle the
 * Errors of their device reads. Thread safe.
 */
public final class FailStopScheduler implements Scheduler {
  private final Scheduler scheduler;
  private final FailureState failure;

  public FailStopScheduler(Scheduler scheduler, FailureState failure) {
    this.scheduler = scheduler;
    this.failure = failure;
  }

  private Runnable failing(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (Error e) {
        if (PageFault.is(e)) {
          throw e;
        }
        failure.fail(e);
      }
    };
  }

  @Override
  public void execute(Lane lane, Runnable task) {
    scheduler.execute(lane, lane == Lane.READ ? task : failing(task));
  }

  @Override
  public void hurry() {
    scheduler.hurry();
  }

  @Override
  public boolean hasPending(Lane lane) {
    return scheduler.hasPending(lane);
  }

  @Override
  public void repeat(long intervalNanos, Runnable task) {
    scheduler.repeat(intervalNanos, failing(task));
  }

  @Override
  public void after(long delayNanos, Runnable task) {
    scheduler.after(delayNanos, failing(task));
  }

  @Override
  public int compactionsMax() {
    return scheduler.compactionsMax();
  }

  @Override
  public boolean help() {
    return scheduler.help();
  }

  @Override
  public void close() {
    scheduler.close();
  }
}
