package io.kvsep.bench;

import java.util.Arrays;
import java.util.Locale;

/**
 * Compares several threads with one. Rounds alternate between the two, so that both see the same
 * conditions; medians are printed. A round in which other processes used more than a little of the
 * cores is repeated, as it says nothing about the work. CPU time of the JVM's own threads counts as
 * used by the process; otherwise work that keeps the collector busy would never count. Not thread
 * safe.
 */
final class Scaling {
  /** A run counts only if the process got at least this part of its cores. */
  private static final double CPU_SHARE_MIN = 0.95;

  /** Operations per second, and the part used of as many cores as threads. */
  private record Run(double rate, double cpuShare) {}

  private final Figures figures;
  private final int threads;
  private final int rounds;
  private final long seconds;
  private int nextWorker;

  private Scaling(Figures figures, int threads, int rounds, long seconds) {
    this.figures = figures;
    this.threads = threads;
    this.rounds = rounds;
    this.seconds = seconds;
  }

  static Scaling from(Arguments arguments, Figures figures) {
    return new Scaling(
        figures,
        arguments.count("threads", 2, 2, 1024),
        arguments.count("rounds", 7, 1, 1000),
        arguments.number("seconds", 1, 1, 3600));
  }

  /** Measures and prints; every run gives {@code work} other worker numbers. */
  void measure(String name, Workers.Work work) {
    for (int warmUp = 0; warmUp < 2; warmUp++) {
      run(1, work);
      run(threads, work);
    }
    double[] one = new double[rounds];
    double[] many = new double[rounds];
    double[] ratios = new double[rounds];
    int count = 0;
    int disturbed = 0;
    while (count < rounds) {
      Run alone = run(1, work);
      Run together = run(threads, work);
      if (Math.min(alone.cpuShare, together.cpuShare) < CPU_SHARE_MIN) {
        if (++disturbed > 4 * rounds) {
          throw new FailedMeasurementException("the machine is too busy to compare threads");
        }
        continue;
      }
      one[count] = alone.rate;
      many[count] = together.rate;
      ratios[count] = many[count] / one[count];
      count++;
    }
    Arrays.sort(ratios);
    figures.text(
        name,
        String.format(
            Locale.ROOT,
            "1 thread %,.0f /s, %d threads %,.0f /s, ratio %.2f (%.2f to %.2f), %d disturbed",
            Figures.median(one),
            threads,
            Figures.median(many),
            Figures.median(ratios),
            ratios[0],
            ratios[rounds - 1],
            disturbed));
  }

  private Run run(int count, Workers.Work work) {
    int first = nextWorker;
    nextWorker += count;
    long cpuStart = Figures.processCpuNanos();
    Workers.Outcome outcome =
        Workers.run(
            count, seconds, (worker, running) -> work.run(Math.addExact(first, worker), running));
    double nanos = outcome.nanos();
    double cpuShare = (Figures.processCpuNanos() - cpuStart) / (count * nanos);
    return new Run(outcome.operations() * 1e9 / nanos, cpuShare);
  }
}
