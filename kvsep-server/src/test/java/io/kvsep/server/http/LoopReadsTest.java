package io.kvsep.server.http;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When reads are kept off the event loops. */
final class LoopReadsTest {
  private static final long QUICK = 5_000;
  private static final long SLOW = 4_000_000;

  private final LoopReads reads = new LoopReads();
  private long now = System.nanoTime();

  @Test
  void whoWaitsForAProcessorNowAndThenIsNotKeptOff() {
    for (int i = 0; i < 1_000; i++) {
      read(1, 50_000_000);
      assertTrue(reads.areAllowed(now));
      read(100, QUICK);
      assertTrue(reads.areAllowed(now));
    }
  }

  @Test
  void slowReadsAreKeptOffSoonAndTriedAgainOneAtATime() {
    read(1_000, QUICK);
    read(3, SLOW);
    assertFalse(reads.areAllowed(now));
    for (int i = 0; i < 10; i++) {
      now += 199_000_000;
      assertFalse(reads.areAllowed(now));
      now += 2_000_000;
      assertTrue(reads.areAllowed(now));
      read(1, SLOW);
      assertFalse(reads.areAllowed(now));
    }
  }

  @Test
  void quickReadsBringThemBack() {
    read(100, SLOW);
    assertFalse(reads.areAllowed(now));
    now += 300_000_000;
    read(200, QUICK);
    read(1, SLOW);
    assertTrue(reads.areAllowed(now));
  }

  private void read(int times, long nanos) {
    for (int i = 0; i < times; i++) {
      reads.took(now, now + nanos);
      now += nanos;
    }
  }
}
