package io.kvsep.internal.base;

/** When entries with a time to live expire: milliseconds since 1970 by the store's clock. */
public final class Expiry {
  private Expiry() {}

  /**
   * The moment, from 1 on: formats have no negative ones, and a clock may be set to before 1970.
   * Far ends do not wrap round.
   *
   * @param timeToLiveMillis from {@code nowMillis} on; the negative of a moment is that moment
   */
  public static long at(long nowMillis, long timeToLiveMillis) {
    if (timeToLiveMillis < 0) {
      return -timeToLiveMillis;
    }
    long expiry = nowMillis + timeToLiveMillis;
    return expiry < nowMillis ? Long.MAX_VALUE - 1 : Math.max(1, expiry);
  }
}
