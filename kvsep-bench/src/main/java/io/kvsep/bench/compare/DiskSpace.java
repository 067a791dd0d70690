package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Disk space of a store, and its writeback. */
final class DiskSpace {
  private DiskSpace() {}

  /**
   * Allocated space, which excludes holes of sparse files and includes reserved space. Without a
   * {@code du} that reports bytes, the lengths of the files.
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
   * Writes back all dirty pages of a directory's file system, so that they do not slow down what
   * comes next. Does nothing if that is not possible.
   */
  static void writeOut(Path directory) {
    try {
      Process process =
          new ProcessBuilder("sync", "-f", directory.toString())
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      process.waitFor();
    } catch (IOException e) {
      // There is no such program; figures vary a little more.
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
