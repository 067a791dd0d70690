package io.kvsep.bench.compare;

/**
 * Zipf's law with the exponent of YCSB, 0.99: of a million ranks the first hundred get a third of
 * all choices. The method is that of Gray et al., Quickly Generating Billion-Record Synthetic
 * Databases. Immutable, thread safe.
 */
final class Zipf {
  private static final double THETA = 0.99;

  /** Terms of the sum that are added one by one; an integral stands for the rest. */
  private static final long EXACT_MAX = 1 << 16;

  private final long count;
  private final double sum;
  private final double eta;

  /**
   * @param count of ranks, at least 1
   */
  Zipf(long count) {
    this.count = count;
    this.sum = sum(count);
    this.eta = (1 - Math.pow(2.0 / count, 1 - THETA)) / (1 - sum(2) / sum);
  }

  private static double sum(long count) {
    long exact = Math.min(count, EXACT_MAX);
    double sum = 0;
    for (long rank = 1; rank <= exact; rank++) {
      sum += Math.pow((double) rank, -THETA);
    }
    return sum
        + (Math.pow(count + 0.5, 1 - THETA) - Math.pow(exact + 0.5, 1 - THETA)) / (1 - THETA);
  }

  /** The rank, from 0, for a number from 0 up to but not including 1. */
  long rank(double uniform) {
    double scaled = uniform * sum;
    if (scaled < 1) {
      return 0;
    }
    if (scaled < 1 + Math.pow(0.5, THETA)) {
      return Math.min(1, count - 1);
    }
    long rank = (long) (count * Math.pow(eta * uniform - eta + 1, 1 / (1 - THETA)));
    return Math.min(rank, count - 1);
  }
}
