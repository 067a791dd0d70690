package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PrometheusScrapeTest {
  @TempDir Path directory;

  @Test
  void theProgramPrintsTheMetersOfTheStore() {
    String output = Printed.by(() -> PrometheusScrape.main(new String[] {directory.toString()}));

    for (String line :
        List.of(
            "kvsep_commits_total{store=\"orders\"} 3.0",
            "kvsep_entries{store=\"orders\"} 3.0",
            "kvsep_failed{store=\"orders\"} 0.0")) {
      assertTrue(output.lines().anyMatch(line::equals), output);
    }
  }
}
