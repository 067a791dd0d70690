package io.kvsep.internal.reclaim;

import io.kvsep.internal.concurrent.Ticker;
import java.util.function.DoubleSupplier;
import java.util.function.LongConsumer;

/**
 * Limits the rate of background reclaim, until garbage slows writers down. The rate is proportional
 * to the write rate, because writes create garbage; a slower pace would only make writers wait
 * later. Used by one thread at a time.
 */
final class ReclaimPace implements Pace {
  private static final long PARK_NANOS_MIN = 1_000_000;
  private static final long PARK_NANOS_MAX = 100_000_000;

  /** Bounds the delay that one large step causes. */
  private static final long OWED_NANOS_MAX = 1_000_000_000;

  /**
   * Bytes moved per byte written. Files worth rewriting are about two fifths garbage, so freeing
   * one byte takes reading and writing one and a half each. The fourth is a reserve for garbage
   * that becomes known at once.
   */
  private static final double MOVED_PER_WRITTEN = 4;

  private final Ticker ticker;
  private final long bytesPerSecondMin;
  private final DoubleSupplier pressure;
  private final DoubleSupplier writtenPerSecond;
  private final LongConsumer park;
  private long paidUntil;

  /**
   * @param bytesPerSecondMin rate without writes
   * @param park waits for at most so many nanoseconds
   */
  ReclaimPace(
      Ticker ticker,
      long bytesPerSecondMin,
      DoubleSupplier pressure,
      DoubleSupplier writtenPerSecond,
      LongConsumer park) {
    this.ticker = ticker;
    this.bytesPerSecondMin = bytesPerSecondMin;
    this.pressure = pressure;
    this.writtenPerSecond = writtenPerSecond;
    this.park = park;
  }

  @Override
  public void moved(long bytes) {
    if (pressure.getAsDouble() >= ReclaimPressure.SLOWDOWN) {
      return;
    }
    double bytesPerSecond =
        Math.max((double) bytesPerSecondMin, MOVED_PER_WRITTEN * writtenPerSecond.getAsDouble());
    long now = ticker.nanos();
    // Unused time is lost: no burst after a pause.
    double owed = Math.max(paidUntil - now, 0) + bytes * 1e9 / bytesPerSecond;
    long owedNanos = (long) Math.min((double) OWED_NANOS_MAX, owed);
    paidUntil = now + owedNanos;
    if (owedNanos >= PARK_NANOS_MIN) {
      park.accept(Math.min(PARK_NANOS_MAX, owedNanos));
    }
  }
}
