package io.kvsep.server.cli;

import io.kvsep.server.json.ByteText;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes entries as files into a folder. No key leads out of it, neither by its name nor through a
 * link inside. Existing files are kept unless they may be replaced; a link is replaced itself,
 * never its target. A file gets its name when it is complete; until then the file that it replaces
 * stays. Nothing is written into the store's own directory.
 */
final class ExportFolder {
  private final Path root;
  private final Path store;
  private final boolean mayReplace;

  ExportFolder(Path folder, Path storeDirectory, boolean mayReplace) throws IOException {
    this.store = storeDirectory.toRealPath();
    this.mayReplace = mayReplace;
    if (firstThatIsThere(folder).toRealPath().startsWith(store)) {
      throw CommandFailure.failed(folder + " is the store itself or inside it");
    }
    if (Files.exists(folder) && !Files.isDirectory(folder)) {
      throw CommandFailure.failed(folder + ": not a folder");
    }
    Files.createDirectories(folder);
    this.root = folder.toRealPath();
  }

  private static Path firstThatIsThere(Path folder) {
    Path path = folder.toAbsolutePath();
    for (Path parent = path.getParent();
        parent != null && Files.notExists(path);
        parent = path.getParent()) {
      path = parent;
    }
    return path;
  }

  /** Writes one file. Returns the reason if it was refused, or null. */
  @Nullable String write(byte[] key, Supplier<ByteBuffer> value) throws IOException {
    Path target;
    try {
      target = root.resolve(relative(key));
    } catch (InvalidPathException | UnusableNameException e) {
      return "is no file name: " + e.getMessage();
    }
    boolean replaces;
    ByteBuffer content;
    UnfinishedFile file;
    try {
      makeParent(target);
      replaces = Files.exists(target, LinkOption.NOFOLLOW_LINKS);
      if (replaces) {
        if (Files.isDirectory(target, LinkOption.NOFOLLOW_LINKS)) {
          return "is a folder there";
        }
        if (!mayReplace) {
          return "exists there already (--force replaces)";
        }
        String other = otherName(target);
        if (other != null) {
          return "is the same file as " + other + " there";
        }
      }
      content = value.get();
      file = UnfinishedFile.beside(target);
    } catch (LeavesFolderException | FileSystemException e) {
      return e instanceof FileSystemException ? Kvsep.reason(e) : String.valueOf(e.getMessage());
    }
    try (file) {
      while (content.hasRemaining()) {
        file.channel().write(content);
      }
      return give(file, target, replaces);
    } catch (IOException e) {
      throw UnfinishedFile.named(target, e);
    }
  }

  /**
   * Returns the actual name of an existing file if it differs from the requested one, as on a
   * case-insensitive file system. This run may have written it for another key. Links are not
   * resolved, since that gives the name of their target.
   */
  private @Nullable String otherName(Path target) throws IOException {
    return Files.isSymbolicLink(target) ? null : otherName(root, target, target.toRealPath());
  }

  /**
   * Returns the actual name if it differs, else null.
   *
   * @param real real path of {@code target}, which is below {@code root}
   */
  static @Nullable String otherName(Path root, Path target, Path real) {
    // As strings: paths compare case-insensitively if their file system does.
    String there = root.relativize(real).toString();
    return there.equals(root.relativize(target).toString()) ? null : there;
  }

  private Path relative(byte[] key) throws UnusableNameException {
    String text = ByteText.text(key);
    if (text == null) {
      throw new UnusableNameException("not UTF-8");
    }
    Path relative = root.getFileSystem().getPath("");
    for (String name : text.split("/", -1)) {
      Path part = root.getFileSystem().getPath(name);
      // Accepts only one plain name, whatever this system uses for separators and drives.
      if (name.isEmpty()
          || name.equals(".")
          || name.equals("..")
          || part.isAbsolute()
          || part.getRoot() != null
          || part.getNameCount() != 1
          || !part.toString().equals(name)) {
        throw new UnusableNameException(
            name.isEmpty() ? "empty between slashes" : "holds the part " + name);
      }
      relative = relative.resolve(part);
    }
    return relative;
  }

  /** Creates parent folders one by one, checking each before entering it. */
  private void makeParent(Path target) throws IOException, LeavesFolderException {
    Path current = root;
    Path relative = root.relativize(target);
    for (Path part : relative) {
      if (current.resolve(part).equals(target)) {
        return;
      }
      current = current.resolve(part);
      if (current.equals(store)) {
        throw new LeavesFolderException(root.relativize(current) + " is the store itself");
      }
      if (!Files.exists(current, LinkOption.NOFOLLOW_LINKS)) {
        Files.createDirectory(current);
      } else if (Files.isSymbolicLink(current)) {
        throw new LeavesFolderException("would follow the link " + root.relativize(current));
      } else if (!Files.isDirectory(current, LinkOption.NOFOLLOW_LINKS)) {
        throw new LeavesFolderException(root.relativize(current) + " is a file there");
      }
    }
  }

  /** Neither follows nor replaces what has appeared meanwhile. */
  private static @Nullable String give(UnfinishedFile file, Path target, boolean replaces)
      throws IOException {
    try {
      if (replaces) {
        file.replace(target);
      } else {
        file.take(target);
      }
      return null;
    } catch (FileSystemException e) {
      return Kvsep.reason(e);
    }
  }

  private static final class UnusableNameException extends Exception {
    private static final long serialVersionUID = 1L;

    UnusableNameException(String message) {
      super(message);
    }
  }

  private static final class LeavesFolderException extends Exception {
    private static final long serialVersionUID = 1L;

    LeavesFolderException(String message) {
      super(message);
    }
  }
}
