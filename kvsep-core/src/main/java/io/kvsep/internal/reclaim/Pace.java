package io.kvsep.internal.reclaim;

/** Throttles a job so that it leaves device bandwidth to others. */
@FunctionalInterface
public interface Pace {
  Pace UNLIMITED = bytes -> {};

  /**
   * Called after each step; may wait.
   *
   * @param bytes read and written since the last call
   */
  void moved(long bytes);
}
