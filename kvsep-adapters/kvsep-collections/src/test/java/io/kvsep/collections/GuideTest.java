package io.kvsep.collections;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program of the guide: this test has it word by word, and runs it. */
final class GuideTest {
  private static final Path MODULE =
      Path.of(Files.isDirectory(Path.of("src")) ? "." : "kvsep-adapters/kvsep-collections");

  record Visit(String user, Instant time) {}

  @Test
  void programRuns(@TempDir Path directory) {
    assertEquals("Visit[user=ada, time=2026-11-29T12:00:00Z]=/index", lastOfAda(directory));
  }

  private static String lastOfAda(Path directory) {
    Codec<Visit> codec =
        Codecs.tuple(Codecs.string(), Visit::user, Codecs.instant(), Visit::time, Visit::new);
    try (KvStore store = KvStore.open(directory)) {
      KvMap<Visit, String> pages =
          KvMap.open(store.in(store.keyspace("visits")), codec, Codecs.plainString());
      Visit noon = new Visit("ada", Instant.parse("2026-11-29T12:00:00Z"));
      pages.put(noon, "/");
      pages.merge(noon, "index", String::concat);
      pages.put(new Visit("bob", Instant.now()), "/");
      return String.valueOf(pages.prefixMap(Codecs.string().encode("ada")).lastEntry());
    }
  }

  @Test
  void programIsThatOfTheGuide() throws IOException {
    String guide = Files.readString(MODULE.resolve("../../docs/guide/collections.md"));
    String test =
        Files.readString(MODULE.resolve("src/test/java/io/kvsep/collections/GuideTest.java"));
    int start = guide.indexOf("```java\n") + 8;
    String program = guide.substring(start, guide.indexOf("\n```", start));

    assertTrue(program.lines().count() > 10);
    for (String part : program.split("\n\n", -1)) {
      assertTrue(stripped(test).contains(stripped(part)), part);
    }
  }

  private static String stripped(String text) {
    return text.lines().map(String::strip).collect(Collectors.joining("\n"));
  }
}
