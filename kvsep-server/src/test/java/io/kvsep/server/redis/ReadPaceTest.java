package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When reads count as slow. */
final class ReadPaceTest {
  private final ReadPace pace = new ReadPace();

  @Test
  void slowReadsAreNoticedSoonAndForgottenAgain() {
    note(200, 2_000);
    assertFalse(pace.isSlow());
    note(20, 400_000);
    assertTrue(pace.isSlow());
    note(200, 2_000);
    assertFalse(pace.isSlow());
  }

  @Test
  void aThreadThatWaitsForAProcessorNowAndThenIsNotSlow() {
    for (int i = 0; i < 100; i++) {
      note(1, 50_000_000);
      note(30, 2_000);
      assertFalse(pace.isSlow());
    }
  }

  private void note(int times, long nanos) {
    for (int i = 0; i < times; i++) {
      pace.note(nanos);
    }
  }
}
