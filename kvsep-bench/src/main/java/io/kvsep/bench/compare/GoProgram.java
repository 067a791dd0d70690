package io.kvsep.bench.compare;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The child for Go engines, built if there is a Go tool chain. */
final class GoProgram {
  private GoProgram() {}

  /**
   * Builds it.
   *
   * @return the program in {@code target}, null if it cannot be built; the reason is printed to
   *     standard error
   */
  static @Nullable Path build(Path source, Path target) {
    if (!Files.isRegularFile(source.resolve("go.mod"))) {
      skip("there is no go.mod in " + source + "; see --go-dir");
      return null;
    }
    Path program = target.toAbsolutePath().resolve("kvsep-bench-go");
    try {
      Process process =
          new ProcessBuilder("go", "build", "-o", program.toString(), ".")
              .directory(source.toFile())
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      if (process.waitFor() == 0) {
        return program;
      }
      skip("go build failed");
    } catch (IOException e) {
      skip("go cannot be run: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
    return null;
  }

  private static void skip(String reason) {
    System.err.println(String.join(" and ", Engines.GO) + " are left out: " + reason);
  }
}
