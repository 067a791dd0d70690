package io.kvsep.internal.concurrent;

import org.jspecify.annotations.Nullable;

/**
 * Runs background work. Injected, so that tests run everything on one thread in an order determined
 * by a seed.
 */
public interface Scheduler extends AutoCloseable {
  /** Most concurrent tasks of the read lane, and so of device reads. */
  int READS = 24;

  /** Kinds of work that must not wait for each other. */
  enum Lane {
    /** Soon blocks writers: creating the next segment, and syncs of the log. */
    LOG,
    /** Blocks writers: writing memtables to tables. */
    FLUSH,
    /** Merging of tables. */
    COMPACTION,
    /** Rewriting of the value log; one task at a time. */
    RECLAIM,
    /** Writing of a bulk load; one task at a time. The thread ends when idle. */
    LOAD,
    /** Blocks a reader: short device reads. Threads end soon when idle. */
    READ
  }

  /**
   * Runs the task once; tasks of one lane may run concurrently. Without a thread for it, this
   * throws, possibly an Error, and the task does not run; in lanes {@link Lane#READ} and {@link
   * Lane#LOAD} it may run.
   */
  void execute(Lane lane, Runnable task);

  /**
   * As {@link #execute}, for callers that must not fail for lack of a thread.
   *
   * @return what was thrown, null on success
   */
  default @Nullable Throwable tryExecute(Lane lane, Runnable task) {
    try {
      execute(lane, task);
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    }
  }

  /** Runs the task repeatedly with the given pause, until the scheduler is closed. */
  void repeat(long intervalNanos, Runnable task);

  /**
   * Runs the task once after the delay, unless the scheduler is closed before. The task should be
   * short.
   */
  void after(long delayNanos, Runnable task);

  /** Most concurrent tasks of the compaction lane. */
  int compactionsMax();

  /**
   * Called by a thread that must wait for background work. A scheduler without threads runs one
   * pending task here.
   *
   * @return whether a task ran; if not, the caller waits
   */
  boolean help();

  /** Rejects new tasks, drops pending ones and waits for running ones. */
  @Override
  void close();
}
