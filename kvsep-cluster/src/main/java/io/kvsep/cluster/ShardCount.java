package io.kvsep.cluster;

import io.kvsep.error.StorageException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The number of shards, in a file of the directory of a node. */
final class ShardCount {
  static final String FILE = "shards";
  static final String DRAFT = "shards.new";

  private final Directory directory;

  /** What the file needs of a directory. */
  interface Directory {
    /** The content of the file, null if there is none. */
    @Nullable String read(String name) throws IOException;

    /** Whether there are groups of earlier starts. */
    boolean hasGroups() throws IOException;

    /** Writes a file, which power loss does not take any more. */
    void write(String name, String content) throws IOException;

    void rename(String source, String target) throws IOException;

    /** Makes names durable. */
    void sync() throws IOException;
  }

  ShardCount(Directory directory) {
    this.directory = directory;
  }

  /**
   * Keeps the number at the first start, before there is anything else.
   *
   * @throws IllegalArgumentException if the node has another number, or one group without a number
   */
  static void require(Path directory, int shards) {
    try {
      Path absolute = directory.toAbsolutePath();
      Files.createDirectories(absolute);
      boolean isNew = new ShardCount(new OnDisk(absolute)).require(shards);
      Path parent = absolute.getParent();
      if (isNew && parent != null) {
        GroupStorage.syncNames(parent);
      }
    } catch (IOException e) {
      throw new StorageException("cannot read or write " + directory.resolve(FILE), e);
    }
  }

  /**
   * Throws if the node has several shards.
   *
   * @throws IllegalArgumentException if it has
   */
  static void requireNone(Path directory) {
    try {
      String found = new OnDisk(directory).read(FILE);
      if (found != null) {
        throw other(found.trim(), 1);
      }
    } catch (IOException e) {
      throw new StorageException("cannot read " + directory.resolve(FILE), e);
    }
  }

  /**
   * As {@link #require(Path, int)}; whether it was not known before. Power may fail: the file is
   * there as a whole, or not at all.
   */
  boolean require(int shards) throws IOException {
    String found = directory.read(FILE);
    if (found == null && directory.hasGroups()) {
      throw other("1", shards);
    } else if (found == null) {
      directory.write(DRAFT, shards + "\n");
      directory.rename(DRAFT, FILE);
    } else if (!found.trim().equals(Integer.toString(shards))) {
      throw other(found.trim(), shards);
    }
    // Also after a start that failed behind the renaming.
    directory.sync();
    return found == null;
  }

  private static IllegalArgumentException other(String found, int wanted) {
    return new IllegalArgumentException(
        "the number of shards is fixed: the directory has " + found + ", not " + wanted);
  }

  private record OnDisk(Path directory) implements Directory {
    @Override
    public @Nullable String read(String name) throws IOException {
      Path file = directory.resolve(name);
      return Files.exists(file) ? Files.readString(file, StandardCharsets.US_ASCII) : null;
    }

    /** Ratis has a directory for each, with the UUID of the group as its name. */
    @Override
    public boolean hasGroups() throws IOException {
      try (Stream<Path> files = Files.list(directory)) {
        return files.anyMatch(
            file -> String.valueOf(file.getFileName()).matches("[0-9a-f]{8}(-[0-9a-f]{4,12}){4}"));
      }
    }

    @Override
    public void write(String name, String content) throws IOException {
      Path file = directory.resolve(name);
      Files.writeString(file, content, StandardCharsets.US_ASCII);
      GroupStorage.sync(file);
    }

    @Override
    public void rename(String source, String target) throws IOException {
      Files.move(
          directory.resolve(source), directory.resolve(target), StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public void sync() throws IOException {
      GroupStorage.syncNames(directory);
    }
  }
}
