package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** The space that a store takes, and its way to the device. */
final class DiskSpace {
  private DiskSpace() {}

  /**
   * What the file system has allocated, so that holes of sparse files do not count and space that
   * is only reserved does. The lengths of the files where there is no {@code du} that tells bytes.
   */
  static long allocatedBytes(Path directory) {
    try {
      Process process =
          new ProcessBuilder("du", "-s", "--block-size=1", directory.toString())
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      String line = new String(process.getInputStream().readAllBytes(), UTF_8);
      if (process.waitFor() == 0) {
        return Long.parseLong(line.substring(0, line.indexOf('\t')));
      }
    } catch (IOException e) {
      return lengths(directory);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
    return lengths(directory);
  }

  /**
   * Writes out what the file system of a folder still has in memory alone, so that what comes next
   * does not pay for what was before. Nothing where that cannot be asked for.
   */
  static void writeOut(Path directory) {
    try {
      Process process =
          new ProcessBuilder("sync", "-f", directory.toString())
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      process.waitFor();
    } catch (IOException e) {
      // There is no such program; the figures are a little less steady.
      return;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  private static long lengths(Path directory) {
    try (Stream<Path> files = Files.walk(directory)) {
      return files.filter(Files::isRegularFile).mapToLong(file -> file.toFile().length()).sum();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
