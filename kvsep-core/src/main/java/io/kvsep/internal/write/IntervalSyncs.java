package io.kvsep.internal.write;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.vlog.LogWriter;

/**
 * Syncs the log that nobody waits for: again and again where the store's durability has an
 * interval, and once for a batch that was written with one of its own. Thread safe.
 *
 * <p>A task is made for a batch that is due before all tasks there are; the sync of the first one
 * covers all that were written before it.
 */
public final class IntervalSyncs {
  /** Tasks at once; where that is not enough, a sync comes sooner than it has to. */
  private static final int TASKS_MAX = 64;

  private final EngineConfig config;
  private final LogTail appender;
  private final LogWriter log;
  private final FailureState failure;

  /** Guards the next two. */
  private final NonAllocatingLock lock = new NonAllocatingLock();

  /** When each task is due that was made and has not begun, the first one last. */
  private final long[] dueNanos = new long[TASKS_MAX];

  private int tasks;

  /** Whether a sync ended half way; noted thus, since there may be no memory for a task. */
  private volatile boolean owed;

  public IntervalSyncs(EngineConfig config, LogTail appender, LogWriter log, FailureState failure) {
    this.config = config;
    this.appender = appender;
    this.log = log;
    this.failure = failure;
  }

  /** Begins with the store's own, if it has any. */
  public void start() {
    if (config.sync() == CommitSync.INTERVAL) {
      config.scheduler().repeat(config.syncIntervalNanos(), this::sync);
    }
  }

  /** Sees to it that what was committed before the call is synced in so much time. */
  public void within(long nanos) {
    if (config.sync() == CommitSync.INTERVAL && config.syncIntervalNanos() <= nanos) {
      return;
    }
    long now = config.ticker().nanos();
    lock.lock();
    try {
      if (tasks > 0 && dueNanos[tasks - 1] - now <= nanos) {
        return;
      }
      if (tasks < TASKS_MAX && scheduled(nanos)) {
        dueNanos[tasks++] = now + nanos;
      } else {
        owed = true;
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Whether a task could be made of it. If not, the writer must not hear of that, as what he has
   * written is committed: it is synced sooner than need be.
   */
  private boolean scheduled(long nanos) {
    try {
      config.scheduler().after(nanos, this::syncOnce);
      return true;
    } catch (RuntimeException | Error e) {
      return false;
    }
  }

  private void syncOnce() {
    lock.lock();
    try {
      // Before the sync: who commits behind this may not be covered by it, and makes another one.
      tasks--;
    } finally {
      lock.unlock();
    }
    syncAtLast();
  }

  /** Tries again what nobody else would; called at intervals. */
  public void tick() {
    if (owed) {
      // Before the sync: another one may end half way beside it.
      owed = false;
      syncAtLast();
    }
  }

  /** What does not come by itself again must not be forgotten if it fails. */
  private void syncAtLast() {
    boolean ended = false;
    try {
      sync();
      ended = true;
    } finally {
      if (!ended) {
        owed = true;
      }
    }
  }

  private void sync() {
    if (!log.isDirty() || failure.hasFailed()) {
      return;
    }
    try {
      appender.sync();
    } catch (StoreFailedException e) {
      // Kept by the failure state, which every later write reports.
      return;
    }
  }
}
