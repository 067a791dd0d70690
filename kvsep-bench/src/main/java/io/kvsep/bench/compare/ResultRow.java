package io.kvsep.bench.compare;

/** One figure of one engine in one round; a line of the CSV file. */
record ResultRow(
    int round,
    String dataset,
    String engine,
    String workload,
    String metric,
    double value,
    String unit) {
  /** Metric of a workload during which an engine failed. */
  static final String FAILED = "failed";
}
