package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class ZipfTest {
  @Test
  void ranksAreAsOftenAsTheLawSays() {
    SplittableRandom random = new SplittableRandom(1);
    Zipf zipf = new Zipf(1000);
    double sum = 0;
    for (int rank = 1; rank <= 1000; rank++) {
      sum += Math.pow(rank, -0.99);
    }
    int[] counts = new int[1000];
    for (int i = 0; i < 1_000_000; i++) {
      counts[(int) zipf.rank(random.nextDouble())]++;
    }
    assertEquals(1 / sum, counts[0] / 1e6, 0.002);
    assertEquals(Math.pow(2, -0.99) / sum, counts[1] / 1e6, 0.002);
    int firstTen = 0;
    for (int rank = 0; rank < 10; rank++) {
      firstTen += counts[rank];
    }
    double expected = 0;
    for (int rank = 1; rank <= 10; rank++) {
      expected += Math.pow(rank, -0.99) / sum;
    }
    // The method is an approximation.
    assertEquals(expected, firstTen / 1e6, 0.02);
    assertTrue(counts[999] > 0);
  }

  /** As in the Go program. */
  @Test
  void ranksOfSomeNumbers() {
    Zipf zipf = new Zipf(3_000_000);
    assertEquals(0, zipf.rank(0.05));
    assertEquals(28, zipf.rank(0.25));
    assertEquals(1555, zipf.rank(0.5));
    assertEquals(2592949, zipf.rank(0.99));
  }

  @Test
  void fewRanksAreEnough() {
    for (int count = 1; count <= 3; count++) {
      Zipf zipf = new Zipf(count);
      for (double uniform : new double[] {0, 0.5, 0.999, 1 - 1e-16}) {
        long rank = zipf.rank(uniform);
        assertTrue(rank >= 0 && rank < count, count + ": " + rank);
      }
    }
  }
}
