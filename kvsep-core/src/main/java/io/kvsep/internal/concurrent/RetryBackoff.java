package io.kvsep.internal.concurrent;

/**
 * Says at which ticks of the timer to look for work again: at each of them, and after a failure at
 * ever fewer, since each try may fill a full disk again. Of the timer's thread alone.
 */
public final class RetryBackoff {
  private final int intervalMax;
  private int interval = 1;
  private int sinceTry;

  public RetryBackoff(int intervalMax) {
    this.intervalMax = intervalMax;
  }

  /** Called once a tick. */
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
