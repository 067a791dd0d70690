package io.kvsep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class LatenciesTest {
  @Test
  void percentilesAreAtMostASixteenthTooHigh() {
    Latencies latencies = new Latencies();
    for (long nanos = 1; nanos <= 100_000; nanos++) {
      latencies.add(nanos);
    }
    for (double share : new double[] {0.01, 0.5, 0.99, 0.999, 1}) {
      double exact = share * 100_000;
      double found = latencies.nanos(share);
      assertTrue(found >= exact && found <= exact * 17 / 16, share + ": " + found);
    }
    assertEquals(100_000, latencies.longestNanos());
    assertEquals(100_000, latencies.count());
  }

  @Test
  void longTimesAndShortOnesHaveTheirClasses() {
    Latencies latencies = new Latencies();
    latencies.add(-5);
    latencies.add(0);
    latencies.add(Long.MAX_VALUE);
    assertEquals(0, latencies.nanos(0.5));
    assertEquals(Long.MAX_VALUE, latencies.nanos(1));
  }

  @Test
  void whatThreadsCountedIsAddedUp() {
    Latencies one = new Latencies();
    one.add(10);
    Latencies other = new Latencies();
    other.add(3_000);
    one.add(other);
    assertEquals(2, one.count());
    assertEquals(10, one.nanos(0.5));
    assertEquals(3_000, one.longestNanos());
    assertEquals(0, new Latencies().nanos(0.99));
  }
}
