package io.kvsep.internal.concurrent;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Threads for one or two lanes of several stores. A free thread takes a task of the first lane that
 * has one: of a store whose writers wait, else of the store whose last turn is longest ago. In
 * every fourth turn waiting writers do not count, so that no store waits forever.
 *
 * <p>Thread safe. Between tasks a thread allocates nothing.
 */
final class WorkerPool {
  /** Idle time after which a thread ends, if threads end. */
  private static final long IDLE_SECONDS = 5;

  private static final int TURNS = 4;

  /** A store's place in the pool; guarded by the pool. */
  static final class Turn {
    private long last;
    private boolean hurried;
    private boolean closed;
    private int running;
  }

  private static final class Task {
    final Lane lane;
    final Turn turn;
    final Runnable run;
    @Nullable Task next;

    Task(Lane lane, Turn turn, Runnable run) {
      this.lane = lane;
      this.turn = turn;
      this.run = run;
    }
  }

  private final Lane[] lanes;
  private final int runningMax;
  private final ThreadPoolExecutor threads;

  /** Submitted once per task, which wakes or starts a thread. */
  private final Runnable worker = this::work;

  /** Pending tasks in order of arrival. */
  @GuardedBy("this")
  private @Nullable Task first;

  @GuardedBy("this")
  private @Nullable Task last;

  /** By lane. */
  @GuardedBy("this")
  private final int[] running = new int[Lane.values().length];

  @GuardedBy("this")
  private long turns;

  /**
   * @param runningMax most concurrent tasks of one lane
   * @param lanes in order of precedence
   */
  WorkerPool(int threads, int runningMax, ThreadFactory factory, Lane... lanes) {
    this.runningMax = runningMax;
    this.lanes = lanes;
    this.threads =
        new ThreadPoolExecutor(
            threads, threads, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
  }

  WorkerPool endingWhenIdle() {
    threads.allowCoreThreadTimeOut(true);
    return this;
  }

  /** As {@link Scheduler#execute}. */
  void execute(Lane lane, Turn turn, Runnable run) {
    Task task = new Task(lane, turn, run);
    synchronized (this) {
      if (turn.closed) {
        return;
      }
      if (last == null) {
        first = task;
      } else {
        last.next = task;
      }
      last = task;
    }
    try {
      threads.execute(worker);
    } catch (RejectedExecutionException e) {
      // Closed: pending work is dropped by contract.
      remove(task);
    } catch (RuntimeException | Error e) {
      if (remove(task)) {
        throw e;
      }
    }
  }

  /** The store's pending tasks precede those of others until its next turn. */
  synchronized void hurry(Turn turn) {
    turn.hurried = true;
  }

  /** As {@link Scheduler#hasPending}. */
  synchronized boolean hasPending(Lane lane) {
    Task task = first;
    while (task != null && task.lane != lane) {
      task = task.next;
    }
    return task != null;
  }

  /** Drops the store's pending tasks, waits for running ones and ignores later ones. */
  void close(Turn turn) {
    boolean interrupted = false;
    synchronized (this) {
      turn.closed = true;
      for (Task task = first; task != null; task = task.next) {
        if (task.turn == turn) {
          remove(task);
        }
      }
      while (turn.running > 0) {
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  ExecutorService shutdown() {
    threads.shutdown();
    return threads;
  }

  private void work() {
    for (Task task = take(); task != null; task = take()) {
      run(task);
    }
  }

  private void run(Task task) {
    try {
      task.run.run();
    } catch (RuntimeException | Error e) {
      // The thread goes on; the task keeps track of its own failures.
      return;
    } finally {
      ended(task);
    }
  }

  private synchronized @Nullable Task take() {
    for (Lane lane : lanes) {
      Task task = running[lane.ordinal()] < runningMax ? next(lane) : null;
      if (task != null) {
        remove(task);
        running[lane.ordinal()]++;
        turns++;
        task.turn.running++;
        task.turn.last = turns;
        task.turn.hurried = false;
        return task;
      }
    }
    return null;
  }

  @GuardedBy("this")
  private @Nullable Task next(Lane lane) {
    boolean hurries = turns % TURNS != 0;
    Task best = null;
    for (Task task = first; task != null; task = task.next) {
      if (task.lane == lane && (best == null || precedes(task.turn, best.turn, hurries))) {
        best = task;
      }
    }
    return best;
  }

  private static boolean precedes(Turn turn, Turn other, boolean hurries) {
    return (hurries && turn.hurried != other.hurried) ? turn.hurried : turn.last < other.last;
  }

  /** Returns false if it is not pending. */
  private synchronized boolean remove(Task removed) {
    Task before = null;
    for (Task task = first; task != null; task = task.next) {
      if (task == removed) {
        if (before == null) {
          first = task.next;
        } else {
          before.next = task.next;
        }
        last = task == last ? before : last;
        return true;
      }
      before = task;
    }
    return false;
  }

  private synchronized void ended(Task task) {
    running[task.lane.ordinal()]--;
    if (--task.turn.running == 0) {
      notifyAll();
    }
  }
}
