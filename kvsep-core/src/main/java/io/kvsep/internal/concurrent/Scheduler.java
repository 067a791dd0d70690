package io.kvsep.internal.concurrent;

import org.jspecify.annotations.Nullable;

/**
 * Runs background work. Injected, so that tests can run everything on one thread in an order that
 * repeats from a seed.
 */
public interface Scheduler extends AutoCloseable {
  /** Tasks of the read lane that run at once at most: reads that a device is given together. */
  int READS = 24;

  /** Which work must not wait behind which. */
  enum Lane {
    /** Writers will wait for it soon: the next segment, room in the active one, and its syncs. */
    LOG,
    /** Writers wait for it: memtables to tables. */
    FLUSH,
    /** Merging of tables. */
    COMPACTION,
    /** Rewriting of the value log; one task at a time. */
    RECLAIM,
    /** Writing of a bulk load; one task at a time; the thread ends when there is none. */
    LOAD,
    /** A reader waits for it: short reads of a device; threads that have none end soon. */
    READ
  }

  /**
   * Runs the task once, at some time; tasks of one lane may run at once. Where there is no thread
   * for it this throws, perhaps an Error, and the task does not run, unless its lane is {@link
   * Lane#READ} or {@link Lane#LOAD}.
   */
  void execute(Lane lane, Runnable task);

  /**
   * As {@link #execute}, for a caller whose own work must not fail for want of a thread.
   *
   * @return what was thrown, null when the task runs
   */
  default @Nullable Throwable tryExecute(Lane lane, Runnable task) {
    try {
      execute(lane, task);
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    }
  }

  /** Runs the task again and again with the given pause, until the scheduler is closed. */
  void repeat(long intervalNanos, Runnable task);

  /**
   * Runs the task once, so much later, unless the scheduler is closed before. It should be short.
   */
  void after(long delayNanos, Runnable task);

  /** Tasks of the compaction lane that may run at once. */
  int compactionsMax();

  /**
   * Called by a thread that has to wait for background work: a scheduler without threads runs one
   * pending task here.
   *
   * @return whether it ran one; if not, the caller waits
   */
  boolean help();

  /** Stops taking work and waits for what runs; pending tasks are dropped. */
  @Override
  void close();
}
