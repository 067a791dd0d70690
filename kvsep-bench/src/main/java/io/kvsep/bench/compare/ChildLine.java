package io.kvsep.bench.compare;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A line of a child's output; see docs/internals/bench-protocol.md. Other lines are ignored. */
sealed interface ChildLine {
  Pattern ENGINE = Pattern.compile("engine name=(\\S+) version=(\\S+) settings=(\\S*)");
  Pattern PROGRESS = Pattern.compile("progress workload=(\\S+) done=(\\d{1,18}) total=(\\d{1,18})");
  Pattern RESULT =
      Pattern.compile(
          "result workload=([^\\s,]+) metric=([^\\s,]+) value=([-+0-9.eE]+) unit=([^\\s,]+)");
  Pattern FAILED = Pattern.compile("failed workload=([^\\s,]+) reason=(.*)");

  record About(String name, String version, String settings) implements ChildLine {}

  record Done(String workload, long done, long total) implements ChildLine {}

  record Result(String workload, String metric, double value, String unit) implements ChildLine {}

  /** The reason of a failure. */
  record Failed(String workload, String reason) implements ChildLine {}

  static Optional<ChildLine> parse(String line) {
    Matcher progress = PROGRESS.matcher(line);
    if (progress.matches()) {
      return Optional.of(
          new Done(
              progress.group(1),
              Long.parseLong(progress.group(2)),
              Long.parseLong(progress.group(3))));
    }
    Matcher result = RESULT.matcher(line);
    if (result.matches()) {
      return number(result.group(3))
          .map(value -> new Result(result.group(1), result.group(2), value, result.group(4)));
    }
    Matcher engine = ENGINE.matcher(line);
    if (engine.matches()) {
      return Optional.of(new About(engine.group(1), engine.group(2), engine.group(3)));
    }
    Matcher failed = FAILED.matcher(line);
    if (failed.matches()) {
      return Optional.of(new Failed(failed.group(1), failed.group(2)));
    }
    return Optional.empty();
  }

  private static Optional<Double> number(String word) {
    try {
      double value = Double.parseDouble(word);
      return Double.isFinite(value) ? Optional.of(value) : Optional.empty();
    } catch (NumberFormatException e) {
      return Optional.empty();
    }
  }
}
