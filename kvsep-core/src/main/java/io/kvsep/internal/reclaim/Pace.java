package io.kvsep.internal.reclaim;

/** Slows a job down so that it leaves the device to others. */
@FunctionalInterface
public interface Pace {
  /** Runs as fast as it can. */
  Pace UNLIMITED = bytes -> {};

  /**
   * Called after each piece of work; may wait.
   *
   * @param bytes read and written since the last call
   */
  void moved(long bytes);
}
