package io.kvsep;

import java.time.Duration;
import java.util.Objects;

/** Converts times to live to milliseconds. */
final class TimeToLive {
  private TimeToLive() {}

  /** Encodes an expiry time for the engine, which expects it negated in place of a time to live. */
  static long until(long expiresAtMillis) {
    if (expiresAtMillis <= 0) {
      throw new IllegalArgumentException("expiresAtMillis must be positive: " + expiresAtMillis);
    }
    return -Math.min(expiresAtMillis, Long.MAX_VALUE - 1);
  }

  /** Positive; less than a millisecond counts as one. Clamped so that sums fit into a long. */
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
