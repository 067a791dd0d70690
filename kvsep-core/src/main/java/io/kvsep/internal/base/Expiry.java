package io.kvsep.internal.base;

/** Expiry times in milliseconds since 1970 by the store's clock. */
public final class Expiry {
  private Expiry() {}

  /**
   * At least 1, because no format stores negative times and the clock may be before 1970.
   * Saturates.
   *
   * @param timeToLiveMillis a negative number is a negated expiry time
   */
  public static long at(long nowMillis, long timeToLiveMillis) {
    if (timeToLiveMillis < 0) {
      return -timeToLiveMillis;
    }
    long expiry = nowMillis + timeToLiveMillis;
    return expiry < nowMillis ? Long.MAX_VALUE - 1 : Math.max(1, expiry);
  }
}
