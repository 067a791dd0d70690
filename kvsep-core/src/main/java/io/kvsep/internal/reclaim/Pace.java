package io.kvsep.internal.reclaim;

/** Throttles a job so that it leaves device bandwidth to others. */
@FunctionalInterface
public interface Pace {
  Pace UNLIMITED = bytes -> {};

  /**
   * Called after each step; may wait.
   *
   * @param bytes moved since the last call: read plus written
   */
  void moved(long bytes);
}
