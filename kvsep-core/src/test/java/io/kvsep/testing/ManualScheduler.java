package io.kvsep.testing;

import io.kvsep.internal.concurrent.Scheduler;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Runs background work on the test's own thread: when the test says so, in an order drawn from a
 * seed, or when the engine has to wait for it. Nothing runs otherwise. Not thread safe.
 */
public final class ManualScheduler implements Scheduler {
  private final Random random;
  private final int compactionsMax;
  private final List<Runnable> pending = new ArrayList<>();
  private final List<Runnable> repeating = new ArrayList<>();
  private final List<Runnable> later = new ArrayList<>();
  private boolean closed;

  public ManualScheduler(long seed, int compactionsMax) {
    this.random = new Random(seed);
    this.compactionsMax = compactionsMax;
  }

  @Override
  public void execute(Lane lane, Runnable task) {
    if (!closed) {
      pending.add(task);
    }
  }

  @Override
  public void repeat(long intervalNanos, Runnable task) {
    repeating.add(task);
  }

  @Override
  public void after(long delayNanos, Runnable task) {
    if (!closed) {
      later.add(task);
    }
  }

  @Override
  public int compactionsMax() {
    return compactionsMax;
  }

  @Override
  public boolean help() {
    if (pending.isEmpty()) {
      return false;
    }
    pending.remove(random.nextInt(pending.size())).run();
    return true;
  }

  /** Runs everything that waits, and what that gives rise to. */
  public void runAll() {
    while (help()) {
      // help() did the work
    }
  }

  /** Lets every repeating task run once, and all that were to run later. */
  public void tick() {
    List.copyOf(repeating).forEach(Runnable::run);
    List<Runnable> due = List.copyOf(later);
    later.clear();
    due.forEach(Runnable::run);
  }

  @Override
  public void close() {
    closed = true;
    pending.clear();
    repeating.clear();
    later.clear();
  }
}
