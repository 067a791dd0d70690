package io.kvsep.server;

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
 * A folder that entries are written to as files, and that no key leads out of: not by its name, and
 * not over a link that is inside already. Files that are there stay unless they may be replaced; a
 * link in the place of a file is replaced itself, never what it leads to. A file has its name once
 * it is whole, and until then the one that it replaces is there. Nothing is written into the
 * directory of the store itself.
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

  /** Writes one file; the reason why not, or null when it was written. */
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
    }
  }

  /**
   * The name of what is there, if it has another one than was asked for: not every file system
   * tells upper case from lower. Perhaps this run has written it, for another key. A link is not
   * asked, since it would tell the name of what it leads to.
   */
  private @Nullable String otherName(Path target) throws IOException {
    return Files.isSymbolicLink(target) ? null : otherName(root, target, target.toRealPath());
  }

  /**
   * As above.
   *
   * @param real where {@code target}, which is below {@code root}, leads
   */
  static @Nullable String otherName(Path root, Path target, Path real) {
    // Not as paths, which are as blind to case as their file system.
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
      // One plain name and nothing else, whatever this system takes for a separator or a drive.
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

  /** Folder by folder, each looked at before it is entered. */
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

  /** What has appeared meanwhile is neither followed nor replaced. */
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
