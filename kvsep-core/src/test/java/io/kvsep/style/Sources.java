package io.kvsep.style;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The source files of all modules. */
final class Sources {
  /** Paths start at the project directory and use forward slashes. */
  record SourceFile(String path, String text) {}

  /** Read once. */
  private static List<SourceFile> read = List.of();

  private Sources() {}

  static List<SourceFile> all() {
    if (read.isEmpty()) {
      read = readAll();
    }
    return read;
  }

  private static List<SourceFile> readAll() {
    Path project = projectFolder();
    List<SourceFile> sources = new ArrayList<>();
    // Modules, and those of the folder of adapters.
    try (Stream<Path> modules = Files.walk(project, 2)) {
      for (Path module :
          modules.filter(path -> path.resolve("pom.xml").toFile().isFile()).toList()) {
        for (String tree : List.of("src/main/java", "src/main/java22", "src/test/java", "src/it")) {
          addSources(project, module.resolve(tree), sources);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return sources;
  }

  private static void addSources(Path project, Path folder, List<SourceFile> sources)
      throws IOException {
    if (!Files.isDirectory(folder)) {
      return;
    }
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(path -> path.toString().endsWith(".java")).sorted().toList()) {
        String path = project.relativize(file).toString().replace('\\', '/');
        sources.add(new SourceFile(path, Files.readString(file, UTF_8)));
      }
    }
  }

  /** Maven starts tests in the module, an editor often in the project: look upwards from here. */
  static Path projectFolder() {
    Path folder = Path.of("").toAbsolutePath();
    while (folder != null && !Files.isDirectory(folder.resolve("kvsep-core"))) {
      folder = folder.getParent();
    }
    if (folder == null) {
      throw new IllegalStateException("started outside the project");
    }
    return folder;
  }
}
