package io.kvsep.internal.concurrent;

import io.kvsep.internal.concurrent.Scheduler.Lane;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The background threads of one or more stores. Each store has its own {@link ThreadScheduler} on
 * them. There are threads for flushes and compactions, two for the log, one for reclaim, timers;
 * threads for reads and one for bulk loads, which end when idle. All are daemon threads, started on
 * first use.
 *
 * <p>Stores take turns, one task at a time, see {@link WorkerPool}. Flushes precede compactions,
 * and neither takes the last thread from the other. Timed tasks run in the order of their due
 * times.
 *
 * <p>Thread safe.
 */
public final class BackgroundThreads implements AutoCloseable {
  /** Segment creation and syncs do not wait for each other. */
  private static final int LOGS = 2;

  /** One task that takes long, such as deleting files, must not delay due syncs. */
  private static final int TIMERS_MAX = 3;

  private final Map<Lane, WorkerPool> pools = new EnumMap<>(Lane.class);
  private final ScheduledThreadPoolExecutor timer;
  private final int compactionsMax;

  /**
   * @param threads for flushes and compactions; at least two are used
   */
  public BackgroundThreads(int threads) {
    int workers = Math.max(2, threads);
    compactionsMax = workers - 1;
    WorkerPool tables =
        new WorkerPool(workers, compactionsMax, named("kvsep-tables"), Lane.FLUSH, Lane.COMPACTION);
    pools.put(Lane.FLUSH, tables);
    pools.put(Lane.COMPACTION, tables);
    pools.put(Lane.LOG, pool(Lane.LOG, LOGS));
    pools.put(Lane.RECLAIM, pool(Lane.RECLAIM, 1));
    pools.put(Lane.LOAD, pool(Lane.LOAD, 1).endingWhenIdle());
    pools.put(Lane.READ, pool(Lane.READ, Scheduler.READS).endingWhenIdle());
    timer =
        new ScheduledThreadPoolExecutor(Math.min(TIMERS_MAX, threads + 1), named("kvsep-timer"));
    timer.setRemoveOnCancelPolicy(true);
  }

  private static WorkerPool pool(Lane lane, int threads) {
    String name = "kvsep-" + lane.name().toLowerCase(Locale.ROOT);
    return new WorkerPool(threads, threads, named(name), lane);
  }

  WorkerPool pool(Lane lane) {
    return Objects.requireNonNull(pools.get(lane));
  }

  ScheduledThreadPoolExecutor timer() {
    return timer;
  }

  int compactionsMax() {
    return compactionsMax;
  }

  /** Ends all threads; every scheduler is closed. */
  @Override
  public void close() {
    timer.shutdownNow();
    List<ExecutorService> executors = new ArrayList<>();
    pools.values().forEach(pool -> executors.add(pool.shutdown()));
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

  private static ThreadFactory named(String name) {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, name + "-" + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }
}
