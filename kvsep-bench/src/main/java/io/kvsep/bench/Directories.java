package io.kvsep.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.stream.Stream;

/** Directories that measurements fill and remove. */
public final class Directories {
  private Directories() {}

  public static Path temporary() {
    return temporary(Path.of(System.getProperty("java.io.tmpdir")));
  }

  /** Creates a directory in {@code parent}, which is created if missing. */
  public static Path temporary(Path parent) {
    try {
      // In some JDK versions createDirectories fails on a link to a directory.
      if (!Files.isDirectory(parent)) {
        Files.createDirectories(parent);
      }
      return Files.createTempDirectory(parent, "kvsep-bench-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A directory named by the user; created if missing, refused unless it is empty. */
  static Path empty(Path directory) {
    try {
      Files.createDirectories(directory);
      try (Stream<Path> files = Files.list(directory)) {
        if (files.findAny().isPresent()) {
          throw new UsageException("--dir is not empty: " + directory);
        }
      }
      return directory;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Removes a directory tree; files that another process removes meanwhile are ignored. */
  public static void remove(Path directory) {
    try {
      Files.walkFileTree(
          directory,
          new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                throws IOException {
              Files.deleteIfExists(file);
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException problem)
                throws IOException {
              if (problem instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
              }
              throw problem;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path folder, IOException problem)
                throws IOException {
              Files.deleteIfExists(folder);
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Total length of the files in {@code directory}, which has no subdirectories; files deleted
   * meanwhile do not count.
   */
  static long fileBytes(Path directory) {
    try (Stream<Path> files = Files.list(directory)) {
      return files.mapToLong(Directories::fileLength).sum();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long fileLength(Path file) {
    try {
      return Files.size(file);
    } catch (NoSuchFileException e) {
      return 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
