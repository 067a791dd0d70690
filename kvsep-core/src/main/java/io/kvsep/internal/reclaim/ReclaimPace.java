package io.kvsep.internal.reclaim;

import io.kvsep.internal.concurrent.Ticker;
import java.util.function.DoubleSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * Limits the rate at which background reclaim moves bytes: low when garbage is just due, higher as
 * it approaches the limit, unlimited beyond. The rate is proportional to the write rate, because
 * writes turn values into garbage; a slower pace would only make writers wait later.
 *
 * <p>Used by one thread at a time.
 */
final class ReclaimPace implements Pace {
  private static final long PARK_NANOS_MIN = 1_000_000;
  private static final long PARK_NANOS_MAX = 100_000_000;

  /** Debt beyond this is forgiven, so that one step does not delay later ones forever. */
  private static final long OWED_NANOS_MAX = 1_000_000_000;

  /**
   * Lower bound of the pressure. Pressure is unbounded below if almost nothing is live; one step
   * could then take years. In stores of some size it never falls below this value.
   */
  private static final double PRESSURE_MIN = -1;

  /** Interval over which the write rate is measured. */
  private static final long SAMPLE_NANOS = 50_000_000;

  /**
   * Bytes moved per byte written. Files worth rewriting are about two fifths garbage, so freeing
   * one byte takes reading and writing one and a half. The rest is a reserve for garbage of many
   * writes that becomes known at once.
   */
  private static final double MOVED_PER_WRITTEN = 4;

  private final Ticker ticker;
  private final long bytesPerSecondMin;
  private final DoubleSupplier pressure;
  private final LongSupplier writtenBytes;
  private final LongConsumer park;
  private long paidUntil;

  private long sampledAt;
  private long sampledBytes;
  private double writtenPerSecond;

  /**
   * @param bytesPerSecondMin rate without pressure and without writes
   * @param pressure 0 if a job has just become due; 1 or more for no limit
   * @param writtenBytes total bytes appended to the log
   * @param park waits for at most the given number of nanoseconds
   */
  ReclaimPace(
      Ticker ticker,
      long bytesPerSecondMin,
      DoubleSupplier pressure,
      LongSupplier writtenBytes,
      LongConsumer park) {
    this.ticker = ticker;
    this.bytesPerSecondMin = bytesPerSecondMin;
    this.pressure = pressure;
    this.writtenBytes = writtenBytes;
    this.park = park;
    this.sampledAt = ticker.nanos();
    this.sampledBytes = writtenBytes.getAsLong();
  }

  @Override
  public void moved(long bytes) {
    long now = ticker.nanos();
    sample(now);
    double rest = 1 - Math.max(PRESSURE_MIN, pressure.getAsDouble());
    if (rest <= 0) {
      return;
    }
    double bytesPerSecond =
        Math.max((double) bytesPerSecondMin, MOVED_PER_WRITTEN * writtenPerSecond);
    // Unused time is lost, so a pause does not permit a burst.
    double owed = Math.max(paidUntil - now, 0) + bytes * 1e9 * rest * rest / bytesPerSecond;
    long owedNanos = (long) Math.min((double) OWED_NANOS_MAX, owed);
    paidUntil = now + owedNanos;
    if (owedNanos >= PARK_NANOS_MIN) {
      park.accept(Math.min(PARK_NANOS_MAX, owedNanos));
    }
  }

  private void sample(long now) {
    long nanos = now - sampledAt;
    if (nanos >= SAMPLE_NANOS) {
      long written = writtenBytes.getAsLong();
      writtenPerSecond = (written - sampledBytes) * 1e9 / nanos;
      sampledAt = now;
      sampledBytes = written;
    }
  }
}
