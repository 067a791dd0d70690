package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Documents;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** {@code docs/benchmarks/measure}, beside a program that prints the options it is given. */
@DisabledOnOs(OS.WINDOWS)
final class MeasureScriptTest {
  private static final Pattern COMMAND = Pattern.compile("docs/benchmarks/measure [a-z][^\n`]*");

  @TempDir Path project;
  private Path script;

  @BeforeEach
  void copyScript() throws IOException {
    script = project.resolve("docs/benchmarks/measure");
    Files.createDirectories(script.getParent());
    Files.copy(Documents.file("benchmarks/measure"), script);
    Path kvsep = project.resolve("kvsep");
    Files.writeString(kvsep, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    assertTrue(kvsep.toFile().setExecutable(true));
  }

  @Test
  void commandsOfThePagesAreAccepted() throws IOException, InterruptedException {
    Set<String> commands = new TreeSet<>();
    for (String page : List.of("benchmarks.md", "../README.md")) {
      commands.addAll(Documents.matches(page, COMMAND));
    }
    assertTrue(commands.size() > 5, commands::toString);
    for (String command : commands) {
      String[] words = command.substring(command.indexOf(' ') + 1).split(" ");
      // Throws if an option is unknown or given twice.
      assertTrue(CompareOptions.parse(options(words)).workloads().contains("load"), command);
    }
  }

  @Test
  void optionsOfTheCallerReplaceThoseOfTheTable() throws IOException, InterruptedException {
    List<String> usual = options("size");
    List<String> changed = options("size", "--engines", "kvsep", "--csv", "a b.csv", "--seed", "7");

    assertEquals(value(usual, "--sets"), value(changed, "--sets"));
    assertEquals("size.csv", value(usual, "--csv"));
    assertEquals("kvsep", value(changed, "--engines"));
    assertEquals("a b.csv", value(changed, "--csv"));
    assertEquals(usual.size() + 2, changed.size());
  }

  private static String value(List<String> words, String option) {
    return words.get(words.indexOf(option) + 1);
  }

  private List<String> options(String... words) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("bash", script.toString()));
    command.addAll(List.of(words));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertEquals(0, process.waitFor(), output);
    List<String> printed = output.lines().toList();
    assertEquals(List.of("bench", "compare"), printed.subList(0, 2));
    return printed.subList(2, printed.size());
  }
}
