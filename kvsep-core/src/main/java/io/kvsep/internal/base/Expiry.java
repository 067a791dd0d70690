package io.kvsep.internal.base;

/** Expiry times: milliseconds since 1970 by the clock of the store. */
public final class Expiry {
  private Expiry() {}

  /**
   * Returns the expiry time, at least 1: no format stores negative times, and the clock may be
   * before 1970. Saturates instead of overflowing.
   *
   * @param timeToLiveMillis relative to {@code nowMillis}; a negative value is a negated absolute
   *     time
   */
  public static long at(long nowMillis, long timeToLiveMillis) {
    if (timeToLiveMillis < 0) {
      return -timeToLiveMillis;
    }
    long expiry = nowMillis + timeToLiveMillis;
    return expiry < nowMillis ? Long.MAX_VALUE - 1 : Math.max(1, expiry);
  }
}
