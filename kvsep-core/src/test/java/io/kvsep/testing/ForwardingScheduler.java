package io.kvsep.testing;

import io.kvsep.internal.concurrent.Scheduler;

/**
 * Leaves everything to the scheduler behind it, so that a scheduler for tests only has to say what
 * it does otherwise. Thread safe if the scheduler behind it is.
 */
public abstract class ForwardingScheduler implements Scheduler {
  private final Scheduler scheduler;

  protected ForwardingScheduler(Scheduler scheduler) {
    this.scheduler = scheduler;
  }

  @Override
  public void execute(Lane lane, Runnable task) {
    scheduler.execute(lane, task);
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
    scheduler.repeat(intervalNanos, task);
  }

  @Override
  public void after(long delayNanos, Runnable task) {
    scheduler.after(delayNanos, task);
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
