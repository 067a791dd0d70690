package io.kvsep.internal.reclaim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** How long reclaim in the background waits between its steps. */
final class ReclaimPaceTest {
  private static final long STEP_BYTES = 2 << 20;
  private static final long STEPS_PER_SECOND = 64;
  private static final long SECOND = 1_000_000_000;

  private long now = 1_000;
  private long parked;
  private double pressure;

  /** Time passes while it waits, and stands still otherwise. */
  private final ReclaimPace pace =
      new ReclaimPace(
          () -> now,
          STEP_BYTES * STEPS_PER_SECOND,
          () -> pressure,
          () -> 0,
          nanos -> {
            parked += nanos;
            now += nanos;
          });

  private void steps(long count) {
    for (int i = 0; i < count; i++) {
      pace.moved(STEP_BYTES);
    }
  }

  @Test
  void aStepTakesLessTheNearerTheLimitIs() {
    steps(STEPS_PER_SECOND);
    assertEquals(SECOND, parked);
    pressure = 0.5;
    steps(STEPS_PER_SECOND);
    assertEquals(SECOND + SECOND / 4, parked);
    pressure = 1;
    steps(STEPS_PER_SECOND);
    assertEquals(SECOND + SECOND / 4, parked);
  }

  /** As when all that is live is deleted while a job copies it: there is no garbage then either. */
  @Test
  void whatAStoreWithoutAnythingHasNoPressureForIsNotOwedForEver() {
    for (double none : new double[] {-(1 << 20), Double.NEGATIVE_INFINITY}) {
      parked = 0;
      pressure = none;
      steps(1);
      pressure = 0;
      steps(STEPS_PER_SECOND);
      assertTrue(parked < 2 * SECOND, () -> none + ": parked for " + parked);
    }
  }

  /** A step is as long as its longest record. */
  @Test
  void aLongStepIsNotPaidForByAllThatFollow() {
    pace.moved(1L << 31);
    pressure = 0.5;
    parked = 0;
    steps(STEPS_PER_SECOND);
    assertTrue(parked <= SECOND + SECOND / 4, () -> "parked for " + parked);
  }
}
