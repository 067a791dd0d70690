package io.kvsep.server.meter;

import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.Map;
import java.util.TreeMap;

/**
 * {@link Timings} as a Prometheus histogram, created when it is scraped, so recording costs nothing
 * more. Bucket bounds are powers of two from 16 microseconds to 17 seconds.
 */
final class LatencyHistogram implements Collector {
  private static final int FIRST = 4;
  private static final int LAST = 24;
  private static final double MICROS_PER_SECOND = 1e6;
  private static final double NANOS_PER_SECOND = 1e9;

  private final String name;
  private final String description;
  private final Map<String, Timings> operations;

  /**
   * @param name of the meter, without its unit
   */
  LatencyHistogram(String name, String description, Map<String, Timings> operations) {
    this.name = name.replace('.', '_') + "_seconds";
    this.description = description;
    this.operations = new TreeMap<>(operations);
  }

  @Override
  public HistogramSnapshot collect() {
    HistogramSnapshot.Builder snapshot = HistogramSnapshot.builder().name(name).help(description);
    operations.forEach((operation, timings) -> snapshot.dataPoint(point(operation, timings)));
    return snapshot.build();
  }

  private static HistogramDataPointSnapshot point(String operation, Timings timings) {
    long[] counts = timings.buckets();
    ClassicHistogramBuckets.Builder buckets = ClassicHistogramBuckets.builder();
    long count = 0;
    for (int i = 0; i < counts.length; i++) {
      count += counts[i];
      boolean isLast = i == counts.length - 1;
      if (isLast || (i >= FIRST && i <= LAST)) {
        double end = isLast ? Double.POSITIVE_INFINITY : (1L << i) / MICROS_PER_SECOND;
        buckets.bucket(end, count);
        count = 0;
      }
    }
    return HistogramDataPointSnapshot.builder()
        .classicHistogramBuckets(buckets.build())
        .sum(timings.nanos() / NANOS_PER_SECOND)
        .labels(Labels.of("operation", operation))
        .build();
  }
}
