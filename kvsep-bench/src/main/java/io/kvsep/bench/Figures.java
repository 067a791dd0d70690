package io.kvsep.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.Arrays;
import java.util.Locale;

/** Prints figures, one per line. */
final class Figures {
  static final int NAME_COLUMNS = 32;

  private final PrintStream target;

  Figures(PrintStream target) {
    this.target = target;
  }

  void text(String name, String value) {
    target.printf(Locale.ROOT, "%-" + NAME_COLUMNS + "s %s%n", name, value);
  }

  void count(String name, long value) {
    text(name, String.format(Locale.ROOT, "%,d", value));
  }

  void seconds(String name, long nanos) {
    text(name, String.format(Locale.ROOT, "%.3f s", nanos / 1e9));
  }

  void mebibytes(String name, long bytes) {
    text(name, String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1 << 20)));
  }

  void ratio(String name, double value) {
    text(name, String.format(Locale.ROOT, "%.3f", value));
  }

  /** Of an even number the lower middle value, so that it is a measured one. */
  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[(sorted.length - 1) / 2];
  }

  /** Percentiles are at most 6.25 % too high. */
  void latencies(String name, Latencies latencies) {
    if (latencies.count() > 0) {
      micros(name + ", p50", latencies.nanos(0.50));
      micros(name + ", p99", latencies.nanos(0.99));
      micros(name + ", p99.9", latencies.nanos(0.999));
      micros(name + ", longest", latencies.longestNanos());
    }
  }

  private void micros(String name, long nanos) {
    text(name, String.format(Locale.ROOT, "%,.1f us", nanos / 1e3));
  }

  /** Operations and, if they move bytes, megabytes per second. */
  void rate(String name, long operations, long bytes, long nanos) {
    double seconds = Math.max(1, nanos) / 1e9;
    String rate = String.format(Locale.ROOT, "%,.0f /s", operations / seconds);
    if (bytes > 0) {
      rate += String.format(Locale.ROOT, "  %.1f MB/s", bytes / seconds / 1e6);
    }
    text(name, rate);
  }

  /** CPU time of the current thread, which hardly depends on other load of the machine. */
  static long cpuNanos() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  /** CPU time of the process, including background work and the JVM's own threads. */
  static long processCpuNanos() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
  }

  /** Sum of the peaks of all heap pools: an upper bound of the heap's peak. */
  static long heapPeakBytes() {
    long bytes = 0;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      if (pool.getType() == MemoryType.HEAP) {
        bytes += pool.getPeakUsage().getUsed();
      }
    }
    return bytes;
  }
}
