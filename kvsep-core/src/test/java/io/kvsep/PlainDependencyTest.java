package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program with kvsep-core and its dependencies on the class path, no JVM flag and no logger. */
final class PlainDependencyTest {
  private static final List<String> TEST_ONLY =
      List.of("slf4j-nop", "junit", "archunit", "opentest4j", "apiguardian", "surefire");

  /** Optional dependencies, and what they bring. */
  private static final List<String> OPTIONAL = List.of("micrometer", "HdrHistogram");

  @TempDir Path directory;

  @Test
  void startsWithoutFlagsAndPrintsNothingByItself() throws IOException, InterruptedException {
    run(List.of());
  }

  @Test
  void worksInARuntimeWithoutFlightRecorder() throws IOException, InterruptedException {
    run(List.of("--limit-modules", "java.se,jdk.unsupported"));
  }

  private void run(List<String> flags) throws IOException, InterruptedException {
    Path output = directory.resolve("out");
    Path errors = directory.resolve("err");
    String classPath =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> TEST_ONLY.stream().noneMatch(entry::contains))
            .filter(entry -> OPTIONAL.stream().noneMatch(entry::contains))
            .collect(Collectors.joining(File.pathSeparator));
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(flags);
    command.addAll(List.of("-cp", classPath, PlainProgram.class.getName()));
    command.add(directory.resolve("store").toString());
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().remove("JAVA_TOOL_OPTIONS");
    builder.environment().remove("JDK_JAVA_OPTIONS");
    builder.redirectOutput(output.toFile()).redirectError(errors.toFile());
    Process process = builder.start();
    boolean ended = process.waitFor(60, TimeUnit.SECONDS);
    process.destroyForcibly();

    assertEquals(List.of("10000 10000"), Files.readAllLines(output));
    assertEquals(List.of(), withoutUnsafeNotice(Files.readAllLines(errors)));
    assertEquals(true, ended);
  }

  /** From JDK 24 on the JVM itself prints four lines, once, about {@code sun.misc.Unsafe}. */
  private static List<String> withoutUnsafeNotice(List<String> lines) {
    if (Runtime.version().feature() < 24 || lines.size() < 4) {
      return lines;
    }
    boolean notice =
        lines.get(0).startsWith("WARNING: A terminally deprecated method in sun.misc.Unsafe");
    return notice ? lines.subList(4, lines.size()) : lines;
  }
}
