package io.kvsep.server.cli;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/**
 * A directory to work in. A temporary one is removed on close, or at exit if the program is
 * interrupted first, unless it is kept.
 */
final class WorkDirectory implements AutoCloseable {
  private final Path path;
  private final @Nullable Thread removal;
  private volatile boolean kept;

  private WorkDirectory(Path path, boolean isTemporary) {
    this.path = path;
    this.kept = !isTemporary;
    this.removal = isTemporary ? new Thread(this::removeAtExit, "kvsep-removal") : null;
  }

  static WorkDirectory temporary(String prefix) throws IOException {
    return removed(Files.createTempDirectory(prefix));
  }

  static WorkDirectory temporaryIn(Path parent, String prefix) throws IOException {
    return removed(Files.createTempDirectory(parent, prefix));
  }

  private static WorkDirectory removed(Path path) {
    WorkDirectory directory = new WorkDirectory(path, true);
    Runtime.getRuntime().addShutdownHook(directory.removal);
    return directory;
  }

  /** An empty or new directory that is kept. */
  static WorkDirectory at(Path path) throws IOException {
    Files.createDirectories(path);
    WorkDirectory directory = new WorkDirectory(path, false);
    if (!directory.isEmpty()) {
      throw CommandFailure.failed(path + " is not empty; the demo needs a directory of its own");
    }
    return directory;
  }

  Path path() {
    return path;
  }

  void keep() {
    kept = true;
  }

  boolean isKept() {
    return kept;
  }

  boolean isEmpty() throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
      return !entries.iterator().hasNext();
    }
  }

  @Override
  public void close() throws IOException {
    if (removal != null) {
      try {
        Runtime.getRuntime().removeShutdownHook(removal);
      } catch (IllegalStateException e) {
        // The program is exiting, and the hook runs.
        return;
      }
      if (!kept) {
        remove();
      }
    }
  }

  private void removeAtExit() {
    try {
      if (!kept) {
        remove();
      }
    } catch (IOException e) {
      // The program is exiting; nothing can report the failure.
      return;
    }
  }

  private void remove() throws IOException {
    Files.walkFileTree(
        path,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException refusal)
              throws IOException {
            Files.deleteIfExists(directory);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
