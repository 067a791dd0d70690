package io.kvsep.internal.engine;

import io.kvsep.internal.base.Ticker;
import io.kvsep.internal.reclaim.Pace;
import java.util.concurrent.locks.LockSupport;
import java.util.function.DoubleSupplier;

/**
 * Lets background reclaim move a limited number of bytes a second: few when there is hardly more
 * garbage than there may be, more the nearer it comes to the limit, and any number beyond. Used by
 * one thread.
 */
final class ReclaimPace implements Pace {
  private static final long PARK_NANOS_MIN = 1_000_000;
  private static final long PARK_NANOS_MAX = 100_000_000;

  private final Ticker ticker;
  private final long bytesPerSecondMin;
  private final DoubleSupplier pressure;
  private long paidUntil;

  /**
   * @param bytesPerSecondMin what may be moved when there is no pressure
   * @param pressure 0 when a job has just become due, 1 when the limit is reached
   */
  ReclaimPace(Ticker ticker, long bytesPerSecondMin, DoubleSupplier pressure) {
    this.ticker = ticker;
    this.bytesPerSecondMin = bytesPerSecondMin;
    this.pressure = pressure;
  }

  @Override
  public void moved(long bytes) {
    double rest = 1 - pressure.getAsDouble();
    if (rest <= 0) {
      return;
    }
    long now = ticker.nanos();
    // What was not used up to now is lost: no bursts after a pause.
    paidUntil = Math.max(paidUntil, now) + (long) (bytes * 1e9 * rest * rest / bytesPerSecondMin);
    if (paidUntil - now >= PARK_NANOS_MIN) {
      LockSupport.parkNanos(Math.min(PARK_NANOS_MAX, paidUntil - now));
    }
  }
}
