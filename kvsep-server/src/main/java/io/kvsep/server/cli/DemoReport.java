package io.kvsep.server.cli;

import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The demo's table: one line per step, printed when the step is done. */
final class DemoReport {
  private static final String COLUMNS = "%-30s %9s %10s %8s %8s  %s";
  private static final String TIMED_COLUMNS = "%-30s %8s  %s";

  private final StandardOutput output;
  private final boolean json;
  private final List<JsonObject> steps = new ArrayList<>();

  DemoReport(StandardOutput output, boolean json) {
    this.output = output;
    this.json = json;
  }

  void say(String line) throws IOException {
    if (!json) {
      output.line(line);
      output.flush();
    }
  }

  void head() throws IOException {
    say("");
    say(String.format(COLUMNS, "step", "entries", "bytes", "seconds", "MB/s", "result"));
  }

  /** For steps without amounts. */
  void timedHead() throws IOException {
    say("");
    say(String.format(TIMED_COLUMNS, "step", "seconds", "result"));
  }

  void step(String name, long nanos, String result) throws IOException {
    double seconds = Amounts.seconds(nanos);
    steps.add(new JsonObject().put("step", name).put("seconds", seconds).put("result", result));
    say(
        String.format(
            Locale.ROOT, TIMED_COLUMNS, name, String.format(Locale.ROOT, "%.2f", seconds), result));
  }

  void step(String name, long entries, long bytes, long nanos, String result) throws IOException {
    double rate = Amounts.megabytesPerSecond(bytes, nanos);
    steps.add(
        new JsonObject()
            .put("step", name)
            .put("entries", entries)
            .put("bytes", bytes)
            .put("seconds", Amounts.seconds(nanos))
            .put("megabytesPerSecond", rate)
            .put("result", result));
    say(
        String.format(
            Locale.ROOT,
            COLUMNS,
            name,
            Amounts.count(entries),
            Amounts.bytes(bytes),
            String.format(Locale.ROOT, "%.2f", Amounts.seconds(nanos)),
            String.format(Locale.ROOT, "%.1f", rate),
            result));
  }

  /** With {@code --json}, prints the steps and {@code summary} as one line. */
  void finish(JsonObject summary) throws IOException {
    if (json) {
      output.line(summary.put("steps", steps).put("result", "ok").toString());
    }
  }
}
