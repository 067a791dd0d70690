package io.kvsep.server.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Walks the regular files below a folder. A file's key is its path relative to the folder, with
 * slashes. Links are not followed. Skips the store's own directory, which may be inside the folder.
 */
final class FolderWalk {
  /** Longest value of a store. */
  static final long FILE_BYTES_MAX = 1L << 30;

  private final Path folder;
  private final Path storeDirectory;
  private final Skipped skipped;

  /** Adds files and folders that cannot be stored to {@code skipped}. */
  FolderWalk(Path folder, Path storeDirectory, Skipped skipped) {
    this.folder = folder;
    this.storeDirectory = storeDirectory;
    this.skipped = skipped;
  }

  /** Passes each file to {@code visitor} until it returns false. */
  void run(Visitor visitor) throws IOException {
    if (!Files.isDirectory(folder)) {
      throw CommandFailure.failed(
          folder + (Files.exists(folder) ? ": not a folder" : ": no such folder"));
    }
    // If the folder itself is a link, its target is walked.
    Path root = folder.toRealPath();
    @Nullable Path excluded = Files.exists(storeDirectory) ? storeDirectory.toRealPath() : null;
    if (root.equals(excluded)) {
      throw CommandFailure.failed(folder + " is the store itself");
    }
    Files.walkFileTree(root, new Walk(root, excluded, visitor));
  }

  interface Visitor {
    /** Returns whether to continue. */
    boolean visit(SourceFile file) throws IOException;
  }

  record SourceFile(Path path, String key, long length) {}

  private final class Walk extends SimpleFileVisitor<Path> {
    private final Path root;
    private final @Nullable Path excluded;
    private final Visitor visitor;

    Walk(Path root, @Nullable Path excluded, Visitor visitor) {
      this.root = root;
      this.excluded = excluded;
      this.visitor = visitor;
    }

    @Override
    public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
      return directory.equals(excluded) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
      if (!attributes.isRegularFile()) {
        return FileVisitResult.CONTINUE;
      }
      @Nullable String key = key(root.relativize(file));
      if (key == null) {
        skipped.add(file.toString(), "its name is no text in this locale, try LC_ALL=C.UTF-8");
      } else if (attributes.size() > FILE_BYTES_MAX) {
        skipped.add(file.toString(), "longer than 1 GiB");
      } else if (!visitor.visit(new SourceFile(file, key, attributes.size()))) {
        return FileVisitResult.TERMINATE;
      }
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult visitFileFailed(Path file, IOException refusal) {
      skipped.add(file.toString(), "cannot be read");
      return FileVisitResult.CONTINUE;
    }

    @Override
    public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException refusal) {
      if (refusal != null) {
        skipped.add(directory.toString(), "cannot be listed to its end");
      }
      return FileVisitResult.CONTINUE;
    }
  }

  /**
   * Null if the name cannot be converted to text and back: otherwise two files whose names differ
   * only in undecodable bytes would get the same key.
   */
  private static @Nullable String key(Path relative) {
    try {
      if (!relative.getFileSystem().getPath(relative.toString()).equals(relative)) {
        return null;
      }
    } catch (InvalidPathException e) {
      return null;
    }
    List<String> names = new ArrayList<>();
    relative.forEach(name -> names.add(name.toString()));
    String key = String.join("/", names);
    return StandardCharsets.UTF_8.newEncoder().canEncode(key) ? key : null;
  }
}
