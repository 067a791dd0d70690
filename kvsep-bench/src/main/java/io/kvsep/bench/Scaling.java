package io.kvsep.bench;

import java.util.Arrays;
import java.util.Locale;

/**
 * Compares several threads with one. The two take turns, round by round, so that both see the same
 * weather; medians are printed. A round in which other processes took more than a little of the
 * cores is left out and repeated, since it says nothing about the work. What the JVM's own threads
 * take counts as had, or else work that keeps the collector busy would never count. Not thread
 * safe.
 */
final class Scaling {
  /** The least part of its cores that the process must have had for a run to count. */
  private static final double CPU_SHARE_MIN = 0.95;

  /** Operations a second, and the part of as many cores as there were threads. */
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

  /** Takes the options that say how to compare. */
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
