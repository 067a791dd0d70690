package io.kvsep.bench.compare;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * Medians over the rounds as text: a block for each data set, a line for each figure, a second line
 * for the tuned rows, a column for each engine, and the ratio of kvsep to the best other engine.
 */
final class ResultTable {
  private static final String OURS = "kvsep";
  private static final int LABEL_COLUMNS = 44;
  private static final int CELL_COLUMNS = 17;

  private final List<ResultRow> rows;
  private final Medians medians;
  private final List<String> columns;
  private final SyncMode durability;

  /**
   * A line of the table.
   *
   * @param label workload and durability
   * @param lessIsBetter whether the smallest value is the best
   * @param hasSpace whether the disk space that goes with a rate stands beside it
   */
  private record Line(
      String workload, String metric, String label, boolean lessIsBetter, boolean hasSpace) {
    Line(String workload, String metric, String label, boolean lessIsBetter) {
      this(workload, metric, label, lessIsBetter, /* hasSpace= */ false);
    }

    static Line withSpace(String workload, String metric, String label) {
      return new Line(workload, metric, label, /* lessIsBetter= */ false, /* hasSpace= */ true);
    }
  }

  /**
   * @param rows at least one
   * @param durability of workloads that take it from the command line
   */
  ResultTable(List<ResultRow> rows, List<String> engines, SyncMode durability) {
    this.rows = rows;
    this.medians = Medians.parse("the comparison", ResultCsv.lines(rows));
    this.columns = engines.stream().map(Engines::mainRow).distinct().toList();
    this.durability = durability;
  }

  private List<Line> lines() {
    String mode = " [" + durability.word + "]";
    List<Line> lines = new ArrayList<>();
    lines.addAll(
        List.of(
            new Line("load", "until_written", "load, batches of 1000" + mode, false),
            new Line("load", "until_closed", "  until synced and closed", false),
            new Line("load", "longest", "  longest batch", true),
            new Line("load", "disk_by_raw", "  bytes on disk / raw", true),
            new Line("load", "written_by_raw", "  bytes written / raw", true)));
    for (Rest rest : Rest.values()) {
      lines.addAll(rest("load", rest));
      lines.addAll(reads(rest));
    }
    lines.addAll(
        List.of(
            new Line("single", "rate", "single puts, one thread [async]", false),
            new Line("single", "p99", "  p99", true),
            new Line("single", "longest", "  longest", true),
            new Line("single_sync", "rate", "single puts, 16 threads [sync]", false),
            new Line("single_sync", "p99", "  p99", true),
            Line.withSpace("overwrite", "rate", "overwrite by 100" + mode + ", disk / raw"),
            Line.withSpace("overwrite", "until_closed", "  until synced and closed"),
            new Line("overwrite", "longest", "  longest batch", true),
            new Line("overwrite", "disk_by_raw", "  bytes on disk / raw", true),
            new Line("overwrite", "written_by_raw", "  bytes written / raw", true)));
    for (Rest rest : Rest.values()) {
      lines.addAll(rest("overwrite", rest));
    }
    lines.addAll(
        List.of(
            Line.withSpace("steady", "rate", "steady overwrite" + mode + ", disk / raw"),
            Line.withSpace("steady", "rate_slowest", "  slowest 10 s"),
            Line.withSpace("steady", "rate_last", "  last 10 s"),
            new Line("steady", "longest", "  longest batch", true),
            new Line("steady", "disk_by_raw_most", "  most bytes on disk / raw", true),
            new Line("steady", "written_by_raw", "  bytes written / raw", true),
            new Line("steady", "read_rate", "  gets beside it", false),
            new Line("steady", "read_p99.9", "  p99.9", true),
            new Line("steady", "read_p99.9_slowest", "  p99.9 of the slowest 10 s", true)));
    Mix.ALL.stream()
        .sorted(Comparator.comparing(Mix::name))
        .forEach(
            mix -> {
              lines.add(new Line(mix.name(), "rate", mix.title() + mode, false));
              lines.add(new Line(mix.name(), "p99.9", "  p99.9", true));
            });
    lines.addAll(
        List.of(
            new Line(Workload.COLD, "open", "fresh process: open", true),
            new Line(Workload.COLD, "first_get", "  start to first get", true),
            new Line(Workload.COLD, "rate", "  gets in the first second", false),
            new Line(Workload.COLD, "p99", "  p99", true),
            new Line("process", "peak_memory", "peak memory, mapped files included", true),
            new Line("process", "anonymous_memory", "  without files", true),
            new Line("process", "cpu", "CPU time of everything", true)));
    return lines;
  }

  private static List<Line> rest(String after, Rest rest) {
    if (rest == Rest.NONE) {
      return List.of();
    }
    String workload = after + rest.suffix;
    String label = rest == Rest.SETTLED ? "maintenance after " : "work when idle after ";
    return List.of(
        new Line(workload, "seconds", label + after, true),
        new Line(workload, "written_bytes", "  bytes written by it", true),
        new Line(workload, "disk_by_raw", "  then bytes on disk / raw", true),
        new Line(workload, "written_by_raw", "  bytes written / raw, " + after + " too", true));
  }

  private static List<Line> reads(Rest rest) {
    String when = rest == Rest.NONE ? "" : ", " + rest.word;
    String suffix = rest.suffix;
    return List.of(
        new Line("open" + suffix, "seconds", "open" + when, true),
        new Line("get" + suffix, "rate", "get into a fresh array" + when, false),
        new Line("get" + suffix, "p50", "  p50", true),
        new Line("get" + suffix, "p99", "  p99", true),
        new Line("get" + suffix, "p99.9", "  p99.9", true),
        new Line("get_reused" + suffix, "rate", "get into a reused array" + when, false),
        new Line("get1" + suffix, "rate", "get, one thread" + when, false),
        new Line("get_view" + suffix, "rate", "get, view without a copy" + when, false),
        new Line("miss" + suffix, "rate", "get, absent" + when, false),
        new Line("iterate" + suffix, "rate", "iterate, key and value copied" + when, false),
        new Line("keys" + suffix, "rate", "iterate, key copied" + when, false));
  }

  String text() {
    StringBuilder text = new StringBuilder();
    for (String dataset : medians.datasets()) {
      text.append(cell("values of " + dataset, -LABEL_COLUMNS));
      columns.forEach(column -> text.append(cell(column, CELL_COLUMNS)));
      text.append("  kvsep / best other\n");
      for (Line line : lines()) {
        append(text, dataset, line, line.label(), columns);
        List<String> tuned = columns.stream().map(Engines::tunedRow).toList();
        append(text, dataset, line, "  tuned", tuned);
      }
      text.append('\n');
    }
    return text.toString();
  }

  /** Appends the figures of one row of each engine; nothing if there are none. */
  private void append(
      StringBuilder text, String dataset, Line line, String label, List<String> engines) {
    List<OptionalDouble> values = new ArrayList<>();
    String best = "";
    double bestValue = 0;
    boolean isAnyFailed = false;
    for (String engine : engines) {
      OptionalDouble median = medians.value(dataset, engine, line.workload(), line.metric());
      values.add(median);
      isAnyFailed |= hasFailed(dataset, engine, line.workload());
      if (median.isPresent() && !Engines.isOurs(engine)) {
        double value = median.getAsDouble();
        if (best.isEmpty() || (line.lessIsBetter() ? value < bestValue : value > bestValue)) {
          best = Engines.mainRow(engine);
          bestValue = value;
        }
      }
    }
    if (values.stream().allMatch(OptionalDouble::isEmpty) && !isAnyFailed) {
      return;
    }
    text.append(cell(label, -LABEL_COLUMNS));
    for (int i = 0; i < engines.size(); i++) {
      boolean isFailed = hasFailed(dataset, engines.get(i), line.workload());
      String shown = shown(values.get(i), line);
      if (line.hasSpace() && values.get(i).isPresent()) {
        OptionalDouble space =
            medians.value(dataset, engines.get(i), line.workload(), "disk_by_raw");
        shown += String.format(Locale.ROOT, " %.2fx", space.orElse(0));
      }
      text.append(cell(isFailed ? "FAILED" : shown, CELL_COLUMNS));
    }
    int ours = columns.indexOf(OURS);
    if (ours >= 0 && values.get(ours).isPresent() && bestValue > 0) {
      double ratio = values.get(ours).getAsDouble() / bestValue;
      String less = line.lessIsBetter() ? ", less is better" : "";
      text.append(String.format(Locale.ROOT, "  %.2f (%s%s)", ratio, best, less));
    }
    text.append('\n');
  }

  private boolean hasFailed(String dataset, String engine, String workload) {
    return medians.value(dataset, engine, workload, ResultRow.FAILED).isPresent();
  }

  private String shown(OptionalDouble value, Line line) {
    if (value.isEmpty()) {
      return "-";
    }
    double number = value.getAsDouble();
    String unit =
        rows.stream()
            .filter(row -> row.workload().equals(line.workload()))
            .filter(row -> row.metric().equals(line.metric()))
            .map(ResultRow::unit)
            .findFirst()
            .orElse("");
    return switch (unit) {
      case "/s" -> scaled(number);
      case "B" -> String.format(Locale.ROOT, "%,.0f MiB", number / (1 << 20));
      case "us" -> micros(number);
      case "s" -> seconds(number);
      default -> String.format(Locale.ROOT, "%.2f", number);
    };
  }

  private static String scaled(double rate) {
    if (rate >= 1e6) {
      return String.format(Locale.ROOT, "%.2f M/s", rate / 1e6);
    }
    return rate >= 1e4
        ? String.format(Locale.ROOT, "%.1f k/s", rate / 1e3)
        : String.format(Locale.ROOT, "%,.0f /s", rate);
  }

  private static String seconds(double seconds) {
    return seconds < 1
        ? String.format(Locale.ROOT, "%.1f ms", seconds * 1e3)
        : String.format(Locale.ROOT, "%.1f s", seconds);
  }

  private static String micros(double micros) {
    return micros >= 1e4
        ? String.format(Locale.ROOT, "%,.0f ms", micros / 1e3)
        : String.format(Locale.ROOT, "%,.1f us", micros);
  }

  /** A negative width pads to the right. */
  private static String cell(String text, int width) {
    return String.format("%" + width + "s", text);
  }
}
