package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvsep.testing.Documents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What Prometheus gets. */
final class MetricsHttpTest extends SharedServer {
  private static String metrics() {
    served.put("/v1/keys/a", "x").is(204);
    served.get("/v1/keys/a").is(200);
    served.get("/v1/keys/b").is(404);
    // The library registers some of its meters when a request has been answered.
    served.get("/metrics").is(200);
    return served.get("/metrics").is(200).text();
  }

  private static @Nullable Path promtool() {
    for (String folder : String.valueOf(System.getenv("PATH")).split(":", -1)) {
      Path program = Path.of(folder, "promtool");
      if (Files.isExecutable(program)) {
        return program;
      }
    }
    return null;
  }

  @Test
  void promtoolFindsNothingWrong() throws Exception {
    Path program = promtool();
    assumeTrue(program != null, "there is no promtool here");
    Process process =
        new ProcessBuilder(List.of(String.valueOf(program), "check", "metrics"))
            .redirectErrorStream(true)
            .start();
    try (var input = process.getOutputStream()) {
      input.write(metrics().getBytes(UTF_8));
    }
    String complaints = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertEquals("", complaints);
    assertEquals(0, process.waitFor());
  }

  @Test
  void everyMeterHasHelp() throws IOException {
    List<String> lines = metrics().lines().toList();
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).startsWith("# TYPE ")) {
        String name = lines.get(i).split(" ", -1)[2];
        assertTrue(i > 0 && lines.get(i - 1).startsWith("# HELP " + name + " "), name);
      }
    }
  }

  @Test
  void everyMeterOfTheAlertsExists() throws IOException {
    String text = metrics();
    Set<String> names =
        Documents.matches("guide/monitoring.md", Pattern.compile("\\bkvsep_[a-z_]+"));
    assertTrue(names.size() > 10, names::toString);
    for (String name : names) {
      assertTrue(text.contains("\n" + name + "{") || text.contains("\n" + name + " "), name);
    }
  }

  @Test
  void latenciesAreHistogramsWhoseBucketsAreCumulative() {
    long before = last(metrics(), "operation=\"get\",le=\"+Inf\"");
    String text = metrics();
    assertEquals(before + 2, last(text, "operation=\"get\",le=\"+Inf\""));
    List<Long> buckets =
        text.lines()
            .filter(line -> line.startsWith("kvsep_http_requests_seconds_bucket{operation=\"get\""))
            .map(MetricsHttpTest::value)
            .toList();
    assertEquals(22, buckets.size());
    assertEquals(buckets.stream().sorted().toList(), buckets);
    assertTrue(
        text.contains("kvsep_http_requests_seconds_count{operation=\"get\"} " + (before + 2)));
    assertTrue(text.contains("operation=\"get\",le=\"0.001024\""));
    assertTrue(text.contains("kvsep_http_requests_seconds_sum{operation=\"get\"} "));
  }

  private static long last(String text, String labels) {
    return text.lines()
        .filter(line -> line.startsWith("kvsep_http_requests_seconds_bucket{" + labels + "}"))
        .mapToLong(MetricsHttpTest::value)
        .sum();
  }

  private static long value(String line) {
    return Long.parseLong(line.substring(line.lastIndexOf(' ') + 1));
  }

  @Test
  void theVirtualMachineAndTheProcessHaveMeters() {
    String text = metrics();
    for (String meter :
        List.of(
            "jvm_memory_used_bytes",
            "jvm_buffer_memory_used_bytes",
            "jvm_threads_live_threads",
            "jvm_classes_loaded_classes",
            "process_cpu_usage",
            "process_uptime_seconds",
            "process_files_open_files",
            "process_cpu_seconds_total",
            "system_cpus")) {
      assertTrue(text.lines().anyMatch(line -> line.startsWith(meter)), meter);
    }
  }
}
