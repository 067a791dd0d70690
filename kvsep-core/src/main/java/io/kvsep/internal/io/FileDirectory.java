package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A new directory of the default file system. Until a rename publishes it, it is a sibling of its
 * target with the suffix ".partial", which also marks leftovers of a dead process.
 */
final class FileDirectory implements NewDirectory {
  private static final String PARTIAL_SUFFIX = ".partial";

  /** Last path elements that refer to an existing directory. */
  private static final Set<String> NO_NAMES = Set.of(".", "..");

  private final @Nullable FileStorage source;
  private final Path target;
  private final Path parent;
  private final Path partial;

  /** Created parents, outermost first. */
  private final List<Path> made;

  private final FileStorage storage;
  private boolean renamed;
  private boolean published;

  private FileDirectory(
      @Nullable FileStorage source, Path target, Path parent, Path partial, List<Path> made)
      throws IOException {
    this.source = source;
    this.target = target;
    this.parent = parent;
    this.partial = partial;
    this.made = made;
    this.storage = new FileStorage(partial, /* createIfMissing= */ false);
  }

  /**
   * Creates the partial directory and missing parents, all removed again unless published.
   *
   * @throws FileAlreadyExistsException if {@code target} exists
   */
  static FileDirectory begin(@Nullable FileStorage source, Path target) throws IOException {
    requireAbsent(target);
    Path absolute = target.toAbsolutePath();
    Path parent = absolute.getParent();
    Path name = absolute.getFileName();
    if (parent == null || name == null) {
      throw new FileAlreadyExistsException(target.toString());
    }
    if (NO_NAMES.contains(name.toString())) {
      throw new IOException(target + " does not name a directory that could be new");
    }
    List<Path> made = FileStorage.createDirectories(parent);
    @Nullable Path partial = null;
    boolean begun = false;
    try {
      partial = createPartial(parent, name.toString());
      FileDirectory directory = new FileDirectory(source, absolute, parent, partial, made);
      begun = true;
      return directory;
    } finally {
      if (!begun) {
        if (partial != null) {
          Files.delete(partial);
        }
        FileStorage.deleteDirectories(made);
      }
    }
  }

  /** A name may be taken by another process, or by a leftover. */
  private static Path createPartial(Path parent, String name) throws IOException {
    for (int n = 1; ; n++) {
      Path partial = parent.resolve(name + PARTIAL_SUFFIX + (n == 1 ? "" : "-" + n));
      try {
        return Files.createDirectory(partial);
      } catch (FileAlreadyExistsException e) {
        if (n == Short.MAX_VALUE) {
          throw e;
        }
      }
    }
  }

  private static void requireAbsent(Path path) throws IOException {
    try {
      // Files.exists returns false on an error.
      Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    } catch (NoSuchFileException e) {
      return;
    }
    throw new FileAlreadyExistsException(path.toString());
  }

  @Override
  public Storage storage() {
    return storage;
  }

  @Override
  public boolean link(String name) throws IOException {
    if (source == null) {
      return false;
    }
    Path file = source.checkedPath(name);
    Path copy = storage.checkedPath(name);
    try {
      Files.createLink(copy, file);
      // The source directory may have been replaced since the previous check.
      source.checkDirectory();
      return true;
    } catch (NoSuchFileException | FileAlreadyExistsException e) {
      throw e;
    } catch (FileSystemException | UnsupportedOperationException e) {
      // Another file system, no links, or too many. The caller copies, and so meets other errors.
      return false;
    }
  }

  @Override
  public void publish() throws IOException {
    // The rename would replace an empty directory.
    requireAbsent(target);
    storage.checkDirectory();
    Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
    renamed = true;
    FileStorage.syncDirectory(parent);
    published = true;
  }

  @Override
  public void close() {
    try {
      if (!published) {
        deleteAll();
        FileStorage.deleteDirectories(made);
      }
    } catch (IOException e) {
      // The suffix marks the leftover; the original error is being thrown.
      return;
    } finally {
      storage.close();
    }
  }

  private void deleteAll() throws IOException {
    if (renamed) {
      // A failing delete must not leave a part under the final name.
      Files.move(target, partial, StandardCopyOption.ATOMIC_MOVE);
    }
    // The name may belong to another directory.
    storage.checkDirectory();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(partial)) {
      for (Path entry : entries) {
        Files.delete(entry);
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    Files.delete(partial);
  }
}
