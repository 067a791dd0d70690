package io.kvsep.bench;

import java.util.ArrayList;
import java.util.List;

/**
 * Histogram of latencies with sixteen classes per power of two, so that a percentile is at most
 * 6.25 % too high. Not thread safe.
 */
public final class Latencies {
  private static final int CLASS_BITS = 4;
  private static final int CLASSES = 1 << CLASS_BITS;

  private final long[] counts = new long[(Long.SIZE - CLASS_BITS) * CLASSES];
  private long count;
  private long longest;

  /** One histogram for each thread. */
  public static List<Latencies> ofThreads(int threads) {
    List<Latencies> all = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      all.add(new Latencies());
    }
    return all;
  }

  public static Latencies sum(List<Latencies> all) {
    Latencies sum = new Latencies();
    all.forEach(sum::add);
    return sum;
  }

  public void add(long nanos) {
    long time = Math.max(0, nanos);
    counts[index(time)]++;
    count++;
    longest = Math.max(longest, time);
  }

  public void add(Latencies other) {
    for (int i = 0; i < counts.length; i++) {
      counts[i] += other.counts[i];
    }
    count += other.count;
    longest = Math.max(longest, other.longest);
  }

  public long count() {
    return count;
  }

  public long longestNanos() {
    return longest;
  }

  /** Upper bound of the latency of {@code share} of the operations; 0 without operations. */
  public long nanos(double share) {
    long rank = (long) Math.ceil(share * count);
    long seen = 0;
    for (int i = 0; i < counts.length; i++) {
      seen += counts[i];
      if (seen >= rank && counts[i] > 0) {
        return Math.min(longest, upper(i));
      }
    }
    return longest;
  }

  private static int index(long nanos) {
    if (nanos < CLASSES) {
      return (int) nanos;
    }
    int exponent = Long.SIZE - 1 - Long.numberOfLeadingZeros(nanos);
    int within = (int) (nanos >>> (exponent - CLASS_BITS)) & (CLASSES - 1);
    return (exponent - CLASS_BITS + 1) * CLASSES + within;
  }

  /** Upper bound of a class. */
  private static long upper(int index) {
    if (index < CLASSES) {
      return index;
    }
    int shift = index / CLASSES - 1;
    return ((long) (CLASSES + index % CLASSES + 1) << shift) - 1;
  }
}
