package io.kvsep;

import java.time.Duration;
import java.util.Objects;

/** Turns a time to live into milliseconds. */
final class TimeToLive {
  private TimeToLive() {}

  /** A moment in place of a length of time: the engine takes it as its negative. */
  static long until(long expiresAtMillis) {
    if (expiresAtMillis <= 0) {
      throw new IllegalArgumentException("expiresAtMillis must be positive: " + expiresAtMillis);
    }
    return -Math.min(expiresAtMillis, Long.MAX_VALUE - 1);
  }

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
