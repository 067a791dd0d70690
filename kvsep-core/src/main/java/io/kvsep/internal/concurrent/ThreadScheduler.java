package io.kvsep.internal.concurrent;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.base.Warnings;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * The scheduler of one store, on threads that several stores may share. Thread safe. Closing drops
 * the store's tasks and waits for those that run.
 */
public final class ThreadScheduler implements Scheduler {
  private final BackgroundThreads threads;
  private final boolean ownsThreads;

  /** By pool and by lane; two lanes may share a pool. */
  private final Map<WorkerPool, WorkerPool.Turn> turns = new HashMap<>();

  private final Map<Lane, WorkerPool> pools = new EnumMap<>(Lane.class);

  private final Object timed = new Object();

  @GuardedBy("timed")
  private final Map<Timed, Future<?>> timedTasks = new HashMap<>();

  @GuardedBy("timed")
  private int timedRunning;

  @GuardedBy("timed")
  private boolean closed;

  /** Uses threads of its own. */
  public ThreadScheduler(int threads) {
    this(new BackgroundThreads(threads), /* ownsThreads= */ true);
  }

  /**
   * @param ownsThreads whether the threads end with this scheduler
   */
  public ThreadScheduler(BackgroundThreads threads, boolean ownsThreads) {
    this.threads = threads;
    this.ownsThreads = ownsThreads;
    for (Lane lane : Lane.values()) {
      WorkerPool pool = threads.pool(lane);
      pools.put(lane, pool);
      turns.computeIfAbsent(pool, any -> new WorkerPool.Turn());
    }
  }

  @Override
  public void execute(Lane lane, Runnable task) {
    WorkerPool pool = Objects.requireNonNull(pools.get(lane));
    pool.execute(lane, Objects.requireNonNull(turns.get(pool)), task);
  }

  @Override
  public void hurry() {
    turns.forEach(WorkerPool::hurry);
  }

  @Override
  public boolean hasPending(Lane lane) {
    return Objects.requireNonNull(pools.get(lane)).hasPending(lane);
  }

  @Override
  public void repeat(long intervalNanos, Runnable task) {
    start(new Timed(task, intervalNanos, /* repeats= */ true));
  }

  @Override
  public void after(long delayNanos, Runnable task) {
    start(new Timed(task, delayNanos, /* repeats= */ false));
  }

  private void start(Timed task) {
    synchronized (timed) {
      if (!closed) {
        timedTasks.put(task, schedule(task));
      }
    }
  }

  private Future<?> schedule(Timed task) {
    ScheduledExecutorService timer = threads.timer();
    return task.repeats
        ? timer.scheduleWithFixedDelay(task, task.nanos, task.nanos, TimeUnit.NANOSECONDS)
        : timer.schedule(task, task.nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public int compactionsMax() {
    return threads.compactionsMax();
  }

  @Override
  public boolean help() {
    return false;
  }

  @Override
  public void close() {
    boolean interrupted = false;
    synchronized (timed) {
      closed = true;
      timedTasks.values().forEach(future -> future.cancel(/* mayInterruptIfRunning= */ false));
      while (timedRunning > 0) {
        try {
          timed.wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    turns.forEach(WorkerPool::close);
    if (ownsThreads) {
      threads.close();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Timed implements Runnable {
    private final Runnable task;
    private final long nanos;
    private final boolean repeats;

    Timed(Runnable task, long nanos, boolean repeats) {
      this.task = task;
      this.nanos = nanos;
      this.repeats = repeats;
    }

    /** A failed run must not end the repetition; the task keeps track of its own failures. */
    @Override
    public void run() {
      synchronized (timed) {
        if (closed) {
          return;
        }
        timedRunning++;
      }
      try {
        task.run();
      } catch (RuntimeException | Error e) {
        Warnings.tellWithTrace("background task", e);
      } finally {
        ended();
      }
    }

    private void ended() {
      synchronized (timed) {
        timedRunning--;
        if (!repeats) {
          timedTasks.remove(this);
        }
        timed.notifyAll();
      }
    }
  }
}
