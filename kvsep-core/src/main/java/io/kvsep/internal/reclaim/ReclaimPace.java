package io.kvsep.internal.reclaim;

import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.concurrent.Uninterruptibles;
import java.util.function.DoubleSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;

/**
 * Lets background reclaim move a limited number of bytes a second: few when there is hardly more
 * garbage than there may be, more the nearer it comes to the limit, and any number beyond. "Few" is
 * in proportion to what is being written, for that is what turns values into garbage: a pace that
 * is too slow for it only makes writers wait later on.
 *
 * <p>Used by one thread at a time.
 */
final class ReclaimPace implements Pace {
  private static final long PARK_NANOS_MIN = 1_000_000;
  private static final long PARK_NANOS_MAX = 100_000_000;
  private static final long REST_NANOS = 60_000_000;

  /** What is owed beyond that is let go of: the next steps are not to pay for one for ever. */
  private static final long OWED_NANOS_MAX = 1_000_000_000;

  /**
   * The least pressure that counts. Of a store of some size it is never less; where next to nothing
   * is live it has no bounds, and a step would take years.
   */
  private static final double PRESSURE_MIN = -1;

  /** Over which it is measured how much is written. */
  private static final long SAMPLE_NANOS = 50_000_000;

  /**
   * Bytes moved for each one written. In files that are worth it about two fifths are garbage, so
   * giving one byte back takes the reading and the writing of one and a half. The rest is for not
   * falling behind after garbage of many writes has shown at once.
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
   * @param bytesPerSecondMin what may be moved when there is no pressure and nothing is written
   * @param pressure 0 when a job has just become due, 1 and more for no limit
   * @param writtenBytes what has been appended to the log so far
   * @param park waits for so many nanoseconds, or less
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

  /** Waits for a moment, for which nothing is owed and nothing is gained. */
  static void rest() {
    Uninterruptibles.pause(REST_NANOS);
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
    // What was not used up to now is lost: no bursts after a pause.
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
