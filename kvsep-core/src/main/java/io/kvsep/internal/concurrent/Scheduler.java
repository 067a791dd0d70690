package io.kvsep.internal.concurrent;

import org.jspecify.annotations.Nullable;

/**
 * Runs background work. Tests inject one that runs everything on one thread in an order drawn from
 * a seed.
 */
public interface Scheduler extends AutoCloseable {
  /** Most concurrent tasks of the read lane. */
  int READS = 24;

  /** Kinds of work that must not wait for each other. */
  enum Lane {
    /** Soon blocks writers: creation of the next segment, syncs of much new log data. */
    LOG,
    /** Blocks writers: writing memtables to tables. */
    FLUSH,
    /** Merging of tables. */
    COMPACTION,
    /** Rewriting of the value log; one task at a time. */
    RECLAIM,
    /** Writing of a bulk load; one task at a time. */
    LOAD,
    /** Blocks a reader: short device reads. */
    READ
  }

  /**
   * Runs the task once; tasks of one lane may run concurrently. Throws, possibly an Error, if no
   * thread is available; then the task does not run, except perhaps in lanes {@link Lane#READ} and
   * {@link Lane#LOAD}.
   */
  void execute(Lane lane, Runnable task);

  /** Like {@link #execute}, but returns what was thrown; null on success. */
  default @Nullable Throwable tryExecute(Lane lane, Runnable task) {
    try {
      execute(lane, task);
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    }
  }

  /**
   * Called by a thread that waits for background work: this store's pending tasks run before those
   * of other stores, as far as these do not wait too long.
   */
  default void hurry() {}

  /** Whether tasks of the lane, of this store or others, wait for a thread. */
  default boolean hasPending(Lane lane) {
    return false;
  }

  /** Runs the task repeatedly with the given pause, until the scheduler is closed. */
  void repeat(long intervalNanos, Runnable task);

  /** Runs a task no longer than a sync once after the delay, unless closed before. */
  void after(long delayNanos, Runnable task);

  /** Most concurrent tasks of the compaction lane. */
  int compactionsMax();

  /**
   * Called by a thread that must wait for background work. A scheduler without threads runs one
   * pending task here. Returns whether a task ran; if not, the caller waits.
   */
  boolean help();

  /** Rejects new tasks, drops pending ones and waits for running ones. */
  @Override
  void close();
}
