package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvsep.KvStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class QuickStartTest {
  @TempDir Path directory;

  @Test
  void printsAndStoresWhatItSays() {
    String output = Printed.by(() -> QuickStart.main(new String[] {directory.toString()}));

    assertEquals("Ada\nGrace\n", output);
    try (KvStore store = KvStore.open(directory)) {
      assertArrayEquals("Grace".getBytes(UTF_8), store.get("user/2".getBytes(UTF_8)));
      assertNull(store.get("user/1".getBytes(UTF_8)));
    }
  }

  @Test
  void theReadmeShowsExactlyThisProgram() throws IOException {
    Path project = Path.of("").toAbsolutePath();
    while (project != null && !Files.isDirectory(project.resolve("kvsep-core"))) {
      project = project.getParent();
    }
    assertNotNull(project);
    String program =
        Files.readString(
            project.resolve("kvsep-examples/src/main/java/io/kvsep/examples/QuickStart.java"));
    String shown =
        between(program, "// README begins\n", "    // README ends").stripTrailing().stripIndent();

    assertEquals(
        shown, between(Files.readString(project.resolve("README.md")), "```java\n", "```").strip());
  }

  private static String between(String text, String begin, String end) {
    int start = text.indexOf(begin) + begin.length();
    return text.substring(start, text.indexOf(end, start));
  }
}
