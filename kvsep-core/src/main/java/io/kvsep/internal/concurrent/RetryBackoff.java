package io.kvsep.internal.concurrent;

/**
 * Decides at which timer ticks to try: at each one, and after failures at exponentially fewer,
 * because each try may fill the disk again. Used only by the timer thread.
 */
public final class RetryBackoff {
  private final int intervalMax;
  private int interval = 1;
  private int sinceTry;

  public RetryBackoff(int intervalMax) {
    this.intervalMax = intervalMax;
  }

  /** Called at each tick. */
  public boolean isDue(boolean failed) {
    if (!failed) {
      interval = 1;
    } else if (++sinceTry < interval) {
      return false;
    } else {
      interval = Math.min(2 * interval, intervalMax);
    }
    sinceTry = 0;
    return true;
  }
}
