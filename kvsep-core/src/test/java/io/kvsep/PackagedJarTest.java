package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Programs of another project, compiled against the packaged jar and its required dependencies and
 * run without JVM flags that concern kvsep.
 */
@Tag("packaged")
final class PackagedJarTest {
  private static final List<String> DEPENDENCIES =
      List.of(
          "chronicle-bytes",
          "chronicle-core",
          "lz4-java",
          "caffeine",
          "error_prone_annotations",
          "jspecify",
          "slf4j-api");

  /** Of the jar and its required dependencies. */
  private static final long BYTES_MAX = 4_000_000;

  private static final Path JAR = Path.of(System.getProperty("kvsep.jar"));
  private static final Path PROGRAMS = Path.of(System.getProperty("kvsep.programs"));
  private static final String EXPECTED = "2999 entries, backup true, reopened true";

  private static final String UNSAFE = "sun.misc.unsafe.memory.access";

  /** Whether the jar was built by a JDK that has java.lang.foreign. */
  private static final boolean FOREIGN = Runtime.version().feature() >= 22;

  @TempDir Path directory;

  private Path compiled;

  @BeforeEach
  void nothingIsCompiled() {
    compiled = directory.resolve("compiled");
  }

  @Test
  void aModuleUsesThePackagedJar() throws Exception {
    compile("--module-path", "module-info.java", "outside/Program.java");
    assertRuns("--module-path", jars(compiled), "--module", "outside/outside.Program");
  }

  @Test
  void aProgramOnTheClassPathUsesThePackagedJar() throws Exception {
    compile("--class-path", "outside/Program.java");
    assertRuns("--class-path", jars(compiled), "outside.Program");
  }

  @Test
  void aProgramRunsWhereTheJvmDeniesUnsafe() throws Exception {
    compile("--class-path", "outside/Program.java");
    assertRuns("-D" + UNSAFE + "=deny", "--class-path", jars(compiled), "outside.Program");
  }

  @Test
  void aProgramRunsWhereTheJvmAllowsUnsafe() throws Exception {
    compile("--class-path", "outside/Program.java");
    assertRuns("-D" + UNSAFE + "=allow", "--class-path", jars(compiled), "outside.Program");
  }

  @Test
  void theJarHasMemoryByJavaLangForeign() throws IOException {
    try (JarFile jar = new JarFile(JAR.toFile())) {
      assertEquals("true", jar.getManifest().getMainAttributes().getValue("Multi-Release"));
      String name = "META-INF/versions/22/io/kvsep/internal/memory/RawBytes.class";
      assertEquals(FOREIGN, jar.getEntry(name) != null);
    }
  }

  @Test
  void aModuleSeesTheInterfaceAlone() throws Exception {
    Path source = Files.createDirectories(directory.resolve("nosy"));
    Files.writeString(
        source.resolve("module-info.java"), "module nosy { requires io.kvsep.core; }");
    Path file = source.resolve("Nosy.java");
    Files.writeString(file, "package nosy; class Nosy { io.kvsep.internal.memory.Region region; }");
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    int status =
        compiler()
            .run(
                null,
                null,
                errors,
                options("--module-path", source.resolve("module-info.java"), file));
    assertEquals(1, status);
    String message = errors.toString(StandardCharsets.UTF_8);
    assertTrue(message.contains("package io.kvsep.internal.memory is not visible"), message);
  }

  @Test
  void theJarAndWhatItRequiresAreSmall() throws IOException {
    String[] paths = jars().split(File.pathSeparator);
    assertEquals(1 + DEPENDENCIES.size(), paths.length, () -> String.join("\n", paths));
    long bytes = 0;
    for (String path : paths) {
      bytes += Files.size(Path.of(path));
    }
    assertTrue(bytes < BYTES_MAX, bytes + " bytes");
  }

  @Test
  void theJarHasItsLicense() throws IOException {
    try (JarFile jar = new JarFile(JAR.toFile())) {
      assertNotNull(jar.getEntry("META-INF/LICENSE"));
      assertNotNull(jar.getEntry("META-INF/NOTICE"));
    }
  }

  private void compile(String pathOption, String... sources) {
    Path[] files = Arrays.stream(sources).map(PROGRAMS::resolve).toArray(Path[]::new);
    assertEquals(0, compiler().run(null, null, null, options(pathOption, files)));
  }

  private String[] options(String pathOption, Path... files) {
    List<String> options = new ArrayList<>(List.of("-Xlint:-requires-automatic", pathOption));
    options.add(jars());
    options.addAll(List.of("-d", compiled.toString()));
    Arrays.stream(files).map(Path::toString).forEach(options::add);
    return options.toArray(String[]::new);
  }

  private static JavaCompiler compiler() {
    return ToolProvider.getSystemJavaCompiler();
  }

  /** The jar, what it needs, and more. */
  private static String jars(Path... more) {
    List<String> paths = new ArrayList<>(Arrays.stream(more).map(Path::toString).toList());
    paths.add(JAR.toString());
    Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(
            path ->
                DEPENDENCIES.stream().anyMatch(Path.of(path).getFileName().toString()::startsWith))
        .forEach(paths::add);
    return paths.stream().collect(Collectors.joining(File.pathSeparator));
  }

  private void assertRuns(String... arguments) throws IOException, InterruptedException {
    Path output = directory.resolve("out");
    Path errors = directory.resolve("err");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx256m");
    command.addAll(List.of(arguments));
    command.add(directory.resolve("store").toString());
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().remove("JAVA_TOOL_OPTIONS");
    builder.environment().remove("JDK_JAVA_OPTIONS");
    builder.redirectOutput(output.toFile()).redirectError(errors.toFile());
    Process process = builder.start();
    boolean ended = process.waitFor(60, TimeUnit.SECONDS);
    process.destroyForcibly();

    assertEquals(List.of(), Files.readAllLines(errors));
    assertEquals(List.of(EXPECTED), Files.readAllLines(output));
    assertTrue(ended);
  }
}
