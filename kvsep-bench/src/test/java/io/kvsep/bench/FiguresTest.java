package io.kvsep.bench;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** What all commands make of their rounds. */
final class FiguresTest {
  @Test
  void aMedianWasReallyMeasured() {
    double[] even = {4, 1, 3, 2};
    assertEquals(2, Figures.median(even));
    assertArrayEquals(new double[] {4, 1, 3, 2}, even, "in the order of the rounds");
    assertEquals(2, Figures.median(new double[] {3, 1, 2}));
    assertEquals(1, Figures.median(new double[] {2, 1}));
    assertEquals(5, Figures.median(new double[] {5}));
  }
}
