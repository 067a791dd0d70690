package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

/** How many values are tried, and how many are missed that would have got shorter. */
final class CompressionTrialsTest {
  private static final int VALUES = 200_000;

  private record Outcome(double tried, double missed) {}

  /** Values: so many of them get shorter, so many of a kind in a row. */
  private static Outcome outcome(double share, int together) {
    ValueCodec trials = new ValueCodec();
    Random random = new Random(7);
    boolean shrinks = false;
    int tried = 0;
    int missed = 0;
    int shrinking = 0;
    for (int i = 0; i < VALUES; i++) {
      if (i % together == 0) {
        shrinks = random.nextDouble() < share;
      }
      shrinking += shrinks ? 1 : 0;
      if (trials.isDue()) {
        tried++;
        trials.tried(shrinks);
      } else {
        missed += shrinks ? 1 : 0;
      }
    }
    return new Outcome(tried / (double) VALUES, missed / Math.max(1.0, shrinking));
  }

  @Test
  void allAreTriedWhereManyGetShorter() {
    assertEquals(new Outcome(1, 0), outcome(1, 1));
    assertEquals(new Outcome(1, 0), outcome(0.5, 1));
    assertTrue(outcome(0.2, 1).missed < 0.001);
    assertTrue(outcome(0.1, 1).missed < 0.05);
  }

  @Test
  void fewAreTriedWhereNoneGetsShorter() {
    Outcome none = outcome(0, 1);
    assertTrue(none.tried < 0.07, none::toString);
  }

  @Test
  void aChangeOfKindIsNoticedSoon() {
    for (double share : new double[] {0.1, 0.5}) {
      Outcome inTurns = outcome(share, 1000);
      assertTrue(inTurns.missed < 0.02, inTurns::toString);
    }
  }
}
