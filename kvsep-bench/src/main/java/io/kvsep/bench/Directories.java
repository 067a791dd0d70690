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

/** Folders that measurements fill and remove. */
public final class Directories {
  private Directories() {}

  /** A new folder under {@code java.io.tmpdir}. */
  public static Path temporary() {
    return temporary(Path.of(System.getProperty("java.io.tmpdir")));
  }

  /** A new folder in {@code parent}, which is made if need be. */
  public static Path temporary(Path parent) {
    try {
      // Some versions of the JDK take a link to a folder for something in the way.
      if (!Files.isDirectory(parent)) {
        Files.createDirectories(parent);
      }
      return Files.createTempDirectory(parent, "kvsep-bench-");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The folder that somebody has named, made if need be; refused when there is anything in it. */
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

  /** Removes all that is there; what somebody else removes meanwhile is no failure. */
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
   * Lengths of all files in {@code directory}, which has no folders in it; one that is deleted
   * meanwhile does not count.
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
