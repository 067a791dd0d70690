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
  private double written;

  /** Time passes while it waits, and stands still otherwise. */
  private final ReclaimPace pace =
      new ReclaimPace(
          () -> now,
          STEP_BYTES * STEPS_PER_SECOND,
          () -> pressure,
          () -> written,
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
  void nothingIsWaitedForOnceWritersAreSlowedDown() {
    steps(STEPS_PER_SECOND);
    assertEquals(SECOND, parked);
    pressure = ReclaimPressure.SLOWDOWN;
    steps(STEPS_PER_SECOND);
    assertEquals(SECOND, parked);
  }

  @Test
  void fourTimesAsMuchIsMovedAsIsWritten() {
    written = STEP_BYTES * STEPS_PER_SECOND;
    steps(4 * STEPS_PER_SECOND);
    assertEquals(SECOND, parked);
  }

  /** A step is as long as its longest record. */
  @Test
  void aLongStepIsNotPaidForByAllThatFollow() {
    pace.moved(1L << 31);
    parked = 0;
    steps(STEPS_PER_SECOND);
    assertTrue(parked <= 2 * SECOND, () -> "parked for " + parked);
  }
}
