package io.kvsep.internal.write;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.vlog.LogWriter;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Syncs the log at the interval of the store, and once for batches with their own. Thread safe.
 *
 * <p>A batch adds a task only if it is due before all pending ones, because a sync covers all
 * earlier batches.
 */
public final class IntervalSyncs {
  /** A batch beyond this is synced at the next {@link #tick}. */
  private static final int TASKS_MAX = 64;

  private final EngineConfig config;
  private final LogTail logTail;
  private final LogWriter logWriter;
  private final FailureState failure;

  private final ReentrantLock lock = new ReentrantLock();

  /** Due times of pending tasks, latest first. */
  @GuardedBy("lock")
  private final long[] dueNanos = new long[TASKS_MAX];

  @GuardedBy("lock")
  private int tasks;

  private volatile boolean owed;

  public IntervalSyncs(EngineConfig config, LogTail logTail, FailureState failure) {
    this.config = config;
    this.logTail = logTail;
    this.logWriter = logTail.logWriter();
    this.failure = failure;
  }

  public void start() {
    if (config.sync().commits() == CommitSync.INTERVAL) {
      config.scheduler().repeat(config.sync().intervalNanos(), this::sync);
    }
  }

  /** Syncs what is committed by now within {@code nanos}. */
  public void within(long nanos) {
    if (config.sync().commits() == CommitSync.INTERVAL && config.sync().intervalNanos() <= nanos) {
      return;
    }
    long now = config.ticker().nanos();
    lock.lock();
    try {
      if (tasks > 0 && dueNanos[tasks - 1] - now <= nanos) {
        return;
      }
      if (tasks < TASKS_MAX) {
        config.scheduler().after(nanos, this::syncOnce);
        dueNanos[tasks++] = now + nanos;
      } else {
        owed = true;
      }
    } finally {
      lock.unlock();
    }
  }

  private void syncOnce() {
    lock.lock();
    try {
      // First: the sync may not cover a later commit, which needs its own task.
      tasks--;
    } finally {
      lock.unlock();
    }
    sync();
  }

  /** Called by the timer. */
  public void tick() {
    if (owed) {
      // First: the sync may not cover a later commit.
      owed = false;
      sync();
    }
  }

  private void sync() {
    if (!logWriter.isDirty() || failure.hasFailed()) {
      return;
    }
    try {
      logTail.sync();
    } catch (StoreFailedException e) {
      // Every later write reports it.
      return;
    }
  }
}
