package io.kvsep.testing;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock that stands still until it is moved. */
public class ManualClock extends Clock {
  private volatile long millis;

  public ManualClock(long millis) {
    this.millis = millis;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // only the test's own thread moves it
  public void advance(long byMillis) {
    millis += byMillis;
  }

  @Override
  public long millis() {
    return millis;
  }

  @Override
  public Instant instant() {
    return Instant.ofEpochMilli(millis);
  }

  @Override
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    throw new IllegalStateException("one zone only");
  }
}
