package io.kvsep;

import java.time.Duration;
import java.util.Objects;

/** Turns a time to live into milliseconds. */
final class TimeToLive {
  private TimeToLive() {}

  /** Positive; less than a millisecond counts as one, far ends are cut to what a long can hold. */
  static long millis(Duration timeToLive) {
    Objects.requireNonNull(timeToLive, "timeToLive");
    if (timeToLive.isZero() || timeToLive.isNegative()) {
      throw new IllegalArgumentException("timeToLive must be positive: " + timeToLive);
    }
    if (timeToLive.toSeconds() > Long.MAX_VALUE / 2000) {
      return Long.MAX_VALUE / 2;
    }
    return Math.max(1, timeToLive.toMillis());
  }
}
