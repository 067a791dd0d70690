package io.kvsep.internal.concurrent;

import io.kvsep.internal.base.Warnings;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The production scheduler: two threads for the log, one each for flushes and reclaim, some for
 * compactions, two timers; threads for reads and one for bulk loads, which end when idle. Daemon
 * threads, started on first use.
 */
public final class ThreadScheduler implements Scheduler {
  private static final long IDLE_SECONDS = 5;

  /** Two, so that segment creation and syncs do not wait for each other. */
  private static final int LOGS = 2;

  /** Two, so that deleting files does not delay a sync. */
  private static final int TIMERS = 2;

  private final Map<Lane, ExecutorService> lanes = new EnumMap<>(Lane.class);
  private final ScheduledExecutorService timer;
  private final int compactionsMax;

  public ThreadScheduler(int threads) {
    compactionsMax = Math.max(1, threads - 1);
    lanes.put(Lane.LOG, Executors.newFixedThreadPool(LOGS, named("kvsep-log")));
    lanes.put(Lane.FLUSH, Executors.newSingleThreadExecutor(named("kvsep-flush")));
    lanes.put(
        Lane.COMPACTION, Executors.newFixedThreadPool(compactionsMax, named("kvsep-compaction")));
    lanes.put(Lane.RECLAIM, Executors.newSingleThreadExecutor(named("kvsep-reclaim")));
    lanes.put(Lane.LOAD, passing(1, named("kvsep-load")));
    lanes.put(Lane.READ, passing(READS, named("kvsep-read")));
    timer = Executors.newScheduledThreadPool(TIMERS, named("kvsep-timer"));
  }

  @Override
  @SuppressWarnings(
      "FutureReturnValueIgnored") // execute() would let a task's error kill the thread
  public void execute(Lane lane, Runnable task) {
    try {
      Objects.requireNonNull(lanes.get(lane)).submit(task);
    } catch (RejectedExecutionException e) {
      // Closed: pending work is dropped by contract.
      return;
    }
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // ends with the scheduler
  public void repeat(long intervalNanos, Runnable task) {
    timer.scheduleWithFixedDelay(
        surviving(task), intervalNanos, intervalNanos, TimeUnit.NANOSECONDS);
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // ends with the scheduler
  public void after(long delayNanos, Runnable task) {
    try {
      timer.schedule(surviving(task), delayNanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      // Closed: pending work is dropped by contract.
      return;
    }
  }

  /** An exception would end the repetition. */
  private static Runnable surviving(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        Warnings.tellWithTrace("background task", e);
      }
    };
  }

  @Override
  public int compactionsMax() {
    return compactionsMax;
  }

  @Override
  public boolean help() {
    return false;
  }

  @Override
  public void close() {
    timer.shutdownNow();
    lanes.values().forEach(ExecutorService::shutdown);
    List<ExecutorService> executors = new ArrayList<>(lanes.values());
    executors.add(timer);
    boolean interrupted = false;
    for (ExecutorService executor : executors) {
      while (!executor.isTerminated()) {
        try {
          executor.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static ThreadPoolExecutor passing(int threads, ThreadFactory factory) {
    ThreadPoolExecutor executor =
        new ThreadPoolExecutor(
            threads, threads, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
    executor.allowCoreThreadTimeOut(true);
    return executor;
  }

  private static ThreadFactory named(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, name + "-" + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }
}
