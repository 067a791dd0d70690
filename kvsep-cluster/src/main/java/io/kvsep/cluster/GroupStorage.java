package io.kvsep.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.SnapshotRetentionPolicy;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.impl.FileListSnapshotInfo;
import org.jspecify.annotations.Nullable;

/**
 * The directories of a group: the live store in {@code store}, snapshots in {@code
 * sm/snapshot.TERM_INDEX}. The live store is not in {@code sm}, because Ratis replaces that folder
 * when it has received a snapshot. Thread safe.
 */
final class GroupStorage implements StateMachineStorage {
  private static final Pattern SNAPSHOT = Pattern.compile("snapshot\\.(\\d+)_(\\d+)");

  private final ExecutorService background;
  private volatile @Nullable Path root;
  private volatile @Nullable Path snapshots;

  /** The newest, until the next one is made or received. */
  private volatile @Nullable SnapshotInfo latest;

  /**
   * @param background deletes what is no longer needed
   */
  GroupStorage(ExecutorService background) {
    this.background = background;
  }

  @Override
  public void init(RaftStorage storage) throws IOException {
    Path directory = storage.getStorageDir().getRoot().toPath();
    root = directory;
    snapshots = storage.getStorageDir().getStateMachineDir().toPath();
    Files.createDirectories(snapshots());
    refresh();
    for (Path left : children(directory, "store.")) {
      delete(left);
    }
  }

  /** The directory of the live store. */
  Path live() {
    return root().resolve("store");
  }

  /** Where a store waits to become the live one, or to be deleted. */
  Path beside(String suffix) {
    return root().resolve("store." + suffix);
  }

  /** The directory of a snapshot, which need not exist. */
  Path snapshot(TermIndex last) {
    return snapshots().resolve("snapshot." + last.getTerm() + "_" + last.getIndex());
  }

  /** Reads again which snapshot is the newest. */
  void refresh() throws IOException {
    Found newest = null;
    for (Found found : found()) {
      newest = found;
    }
    latest = newest == null ? null : new FileListSnapshotInfo(files(newest.path), newest.last);
  }

  @Override
  public @Nullable SnapshotInfo getLatestSnapshot() {
    return latest;
  }

  @Override
  public void format() {
    // The live store is made when it is opened.
  }

  @Override
  public void cleanupOldSnapshots(SnapshotRetentionPolicy policy) throws IOException {
    int kept = policy.getNumSnapshotsRetained();
    List<Found> found = found();
    if (kept < 1) {
      return;
    }
    for (Found old : found.subList(0, Math.max(0, found.size() - kept))) {
      deleteLater(old.path);
    }
  }

  @Override
  public @Nullable File getSnapshotDir() {
    return null;
  }

  @Override
  public @Nullable File getTmpDir() {
    return null;
  }

  /** Moves a directory away and deletes it in the background. */
  void deleteLater(Path directory) throws IOException {
    Path away = beside("deleted-" + directory.getFileName());
    if (Files.exists(away)) {
      delete(away);
    }
    Files.move(directory, away);
    background.execute(
        () -> {
          try {
            delete(away);
          } catch (IOException e) {
            // The next start deletes it.
          }
        });
  }

  /** A file, or all of a directory: Ratis does not sync what it receives, and deletes the log. */
  static void sync(Path directory) throws IOException {
    List<Path> files;
    try (Stream<Path> found = Files.walk(directory)) {
      files = found.filter(Files::isRegularFile).toList();
    }
    for (Path file : files) {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
    }
  }

  /** Makes the names in a directory durable. Windows has no such call, and keeps a journal. */
  static void syncNames(Path directory) throws IOException {
    if (!System.getProperty("os.name", "").startsWith("Windows")) {
      try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
        channel.force(true);
      }
    }
  }

  static void delete(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return;
    }
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            if (e instanceof NoSuchFileException) {
              return FileVisitResult.CONTINUE;
            }
            throw e;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path visited, @Nullable IOException e)
              throws IOException {
            Files.deleteIfExists(visited);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  private record Found(Path path, TermIndex last) {}

  /** From the oldest to the newest. */
  private List<Found> found() throws IOException {
    List<Found> found = new ArrayList<>();
    for (Path path : children(snapshots(), "snapshot.")) {
      Matcher name = SNAPSHOT.matcher(String.valueOf(path.getFileName()));
      if (name.matches()) {
        found.add(
            new Found(
                path,
                TermIndex.valueOf(Long.parseLong(name.group(1)), Long.parseLong(name.group(2)))));
      }
    }
    found.sort(Comparator.comparing(Found::last));
    return found;
  }

  private static List<Path> children(Path directory, String prefix) throws IOException {
    try (Stream<Path> children = Files.list(directory)) {
      return children
          .filter(path -> String.valueOf(path.getFileName()).startsWith(prefix))
          .toList();
    }
  }

  /** Without the checksums that Ratis puts beside each file that it received. */
  private static List<FileInfo> files(Path snapshot) throws IOException {
    try (Stream<Path> files = Files.walk(snapshot)) {
      return files
          .filter(Files::isRegularFile)
          .filter(file -> !file.toString().endsWith(".md5"))
          .map(file -> new FileInfo(file, null))
          .toList();
    }
  }

  private Path root() {
    return required(root);
  }

  private Path snapshots() {
    return required(snapshots);
  }

  private static Path required(@Nullable Path directory) {
    if (directory == null) {
      throw new IllegalStateException("the storage is not initialized");
    }
    return directory;
  }
}
