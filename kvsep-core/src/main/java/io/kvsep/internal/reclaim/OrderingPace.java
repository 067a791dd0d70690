package io.kvsep.internal.reclaim;

import io.kvsep.internal.concurrent.Ticker;
import java.util.function.BooleanSupplier;

/**
 * Paces the work that puts values of an idle store in key order: faster than reclaim while the
 * store has no calls, slower while it is read, because nothing but later scans depends on it and
 * reads wait for the same device. Used by one thread at a time.
 */
final class OrderingPace implements Pace {
  /** Speed relative to reclaim without calls, and of reclaim relative to this with reads. */
  private static final int FACTOR = 4;

  /** How long a read counts. A reader that waits for the device is inside nearly all the time. */
  private static final long READ_NANOS = 1_000_000_000;

  private final Pace usual;
  private final Ticker ticker;
  private final BooleanSupplier isQuiet;
  private final BooleanSupplier isReaderInside;
  private long readUntil;

  /**
   * @param isQuiet whether there are no writes and nothing waits for the end of the job
   */
  OrderingPace(Pace usual, Ticker ticker, BooleanSupplier isQuiet, BooleanSupplier isReaderInside) {
    this.usual = usual;
    this.ticker = ticker;
    this.isQuiet = isQuiet;
    this.isReaderInside = isReaderInside;
    this.readUntil = ticker.nanos();
  }

  @Override
  public void moved(long bytes) {
    long now = ticker.nanos();
    if (isReaderInside.getAsBoolean()) {
      readUntil = now + READ_NANOS;
    }
    if (!isQuiet.getAsBoolean()) {
      usual.moved(bytes);
    } else if (readUntil - now > 0) {
      usual.moved(bytes * FACTOR);
    } else {
      usual.moved(bytes / FACTOR);
    }
  }
}
