package io.kvsep.internal.io;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A directory of the default file system.
 *
 * <p>Keeps, for every open file, the name under which it can be opened again (see {@link
 * ChannelFile}), so files that are open here must be renamed and deleted here. Subdirectories are
 * not listed and never touched.
 *
 * <p>Holds on to the directory by what the system calls it, not by its name, and to the lock file
 * likewise: looks before each operation on a name whether both are still there. Between that look
 * and the operation are microseconds, in which a directory that is replaced is not noticed; what
 * was opened is looked at once more. On Windows, where the system does not say what tells files
 * apart, nothing is looked at, but a directory with open files cannot be moved or deleted either.
 *
 * <p>Thread safe. Holds a lock over opening and renaming, never over a transfer, a sync or a
 * delete, which can take long on a large file.
 */
public final class FileStorage implements Storage {
  private static final Set<OpenOption> READ = Set.of(StandardOpenOption.READ);
  private static final Set<OpenOption> READ_WRITE =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE);
  private static final Set<OpenOption> CREATE =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);

  /**
   * Windows neither opens a directory as a file nor needs to: its file systems write changes of a
   * directory through their journal, and offer no call to wait for it.
   */
  private static final boolean DIRECTORIES_SYNC = File.separatorChar == '/';

  /**
   * False where a filter of system calls ends a process that asks what is in memory, which nobody
   * can notice in time.
   */
  private static final String MINCORE_PROPERTY = "kvsep.mincore";

  /** Much longer than a store takes to notice that its lock file is gone. */
  private static final long FORMER_HOLDER_SECONDS = 1;

  private final Path directory;

  /**
   * Opened before anything changes, so that it is told of every failure, and that no lack of file
   * handles is taken for one. Null where it cannot be had, or is not needed.
   */
  private final @Nullable AsynchronousFileChannel directorySync;

  /**
   * What tells the directory from all others. No other one gets the same as long as this one is
   * open, as it is by {@link #directorySync} or its lock file. Null where the system does not say.
   */
  private final @Nullable Object identity;

  /** The lock that was taken last. */
  private volatile ProcessLocks.@Nullable Lock lock;

  private final Object names = new Object();

  /** The name by which each open file is in the directory; guarded by names. */
  private final Map<ChannelFile, String> openFiles = new HashMap<>();

  /**
   * Whether the system tells what is in memory. Linux says of files that one may not write that all
   * of them is. Not final: where it refuses to tell, it is not asked again.
   */
  private volatile boolean isTold;

  private volatile boolean closed;

  /**
   * @throws NoSuchFileException when the directory is absent and is not to be created
   * @throws NotDirectoryException when the name belongs to something else
   */
  public FileStorage(Path directory, boolean createIfMissing) throws IOException {
    // In this order: somebody else may make the directory between the two questions.
    if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
      if (!createIfMissing) {
        throw new NoSuchFileException(directory.toString());
      }
      createDirectories(directory.toAbsolutePath());
    } else if (!Files.isDirectory(directory)) {
      throw new NotDirectoryException(directory.toString());
    }
    // Whatever the working directory or a link means later, this storage stays where it is.
    this.directory = directory.toRealPath();
    Path current = this.directory.resolve(StoreFiles.CURRENT);
    boolean isStore = Files.exists(current);
    this.isTold =
        Boolean.parseBoolean(System.getProperty(MINCORE_PROPERTY, "true"))
            && Files.isWritable(isStore ? current : this.directory);
    if (createIfMissing && !isStore) {
      syncEntryOf(this.directory);
    }
    this.identity = Files.readAttributes(this.directory, BasicFileAttributes.class).fileKey();
    this.directorySync =
        DIRECTORIES_SYNC && Files.isReadable(this.directory) ? opened(this.directory) : null;
  }

  /** Null when there is no such file, or the system does not tell one from another. */
  private static @Nullable Object keyOf(Path path) throws IOException {
    try {
      return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  @Override
  public void checkDirectory() throws IOException {
    ProcessLocks.Lock held = lock;
    Object locked = held == null ? null : held.file();
    boolean isHere =
        identity == null
            || (identity.equals(keyOf(directory))
                && (locked == null || locked.equals(keyOf(directory.resolve(StoreFiles.LOCK)))));
    if (!isHere) {
      throw new LostDirectoryException(location());
    }
  }

  /** Not a FileChannel: an interrupt would close it and hide a failure. See ChannelFile. */
  private static AsynchronousFileChannel opened(Path directory) throws IOException {
    return AsynchronousFileChannel.open(directory, StandardOpenOption.READ);
  }

  /** Whoever made the directory of a store to be may have died before its entry was durable. */
  private static void syncEntryOf(Path directory) throws IOException {
    Path parent = directory.getParent();
    if (parent != null && Files.isReadable(parent)) {
      syncDirectory(parent);
    }
  }

  @Override
  public StorageFile create(String name) throws IOException {
    return opened(name, CREATE, true);
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    return opened(name, writable ? READ_WRITE : READ, writable);
  }

  private ChannelFile opened(String name, Set<OpenOption> options, boolean writable)
      throws IOException {
    requireOpen();
    Path path = pathOf(requireNotLock(name));
    synchronized (names) {
      FileChannel channel = channel(path, options);
      AsynchronousFileChannel syncHandle = null;
      try {
        if (writable) {
          syncHandle = AsynchronousFileChannel.open(path, StandardOpenOption.WRITE);
          checkDirectory();
        }
        ChannelFile file = new ChannelFile(this, name, channel, syncHandle);
        openFiles.put(file, name);
        return file;
      } catch (IOException | RuntimeException | Error e) {
        try (AsynchronousFileChannel handle = syncHandle) {
          channel.close();
        }
        throw e;
      }
    }
  }

  private FileChannel channel(Path path, Set<OpenOption> options) throws IOException {
    checkDirectory();
    FileChannel channel = FileChannel.open(path, options);
    boolean isOurs = false;
    try {
      // The directory may have been replaced since the first look.
      checkDirectory();
      isOurs = true;
      return channel;
    } finally {
      if (!isOurs) {
        channel.close();
      }
    }
  }

  /** A new channel for a file that lost its own; works on a closed storage as well. */
  FileChannel reopen(ChannelFile file) throws IOException {
    synchronized (names) {
      String name = openFiles.get(file);
      if (name == null) {
        // Whatever has the name now is another file.
        throw new NoSuchFileException(
            pathOf(file.name()).toString(), null, "deleted while open, then interrupted");
      }
      return channel(pathOf(name), file.writable() ? READ_WRITE : READ);
    }
  }

  void forget(ChannelFile file) {
    synchronized (names) {
      openFiles.remove(file);
    }
  }

  @Override
  public boolean exists(String name) throws IOException {
    requireOpen();
    checkDirectory();
    try {
      // Not Files.exists, which says no when it cannot tell: a store would be made anew over it.
      Files.readAttributes(pathOf(name), BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      return true;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  @Override
  public void rename(String source, String target) throws IOException {
    requireOpen();
    Path from = pathOf(requireNotLock(source));
    Path to = pathOf(requireNotLock(target));
    synchronized (names) {
      checkDirectory();
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
      if (!source.equals(target)) {
        openFiles.values().removeIf(target::equals);
        openFiles.replaceAll((file, name) -> name.equals(source) ? target : name);
      }
    }
  }

  @Override
  public void delete(String name) throws IOException {
    requireOpen();
    Path path = pathOf(name);
    if (StoreFiles.kindOf(name) == StoreFiles.Kind.LOCK && ProcessLocks.isHeld(path)) {
      throw new IllegalArgumentException("delete of a lock that is held: " + path);
    }
    checkDirectory();
    // First the names, so that no file is opened again as a later one of the same name.
    List<ChannelFile> orphans = orphan(name);
    boolean deleted = false;
    try {
      Files.delete(path);
      deleted = true;
    } finally {
      if (!deleted) {
        adopt(orphans, name);
      }
    }
  }

  /** Windows refuses. */
  @Override
  public boolean deletesMapped() {
    return File.separatorChar == '/';
  }

  private List<ChannelFile> orphan(String name) {
    List<ChannelFile> orphans = new ArrayList<>();
    synchronized (names) {
      openFiles.forEach(
          (file, current) -> {
            if (current.equals(name)) {
              orphans.add(file);
            }
          });
      orphans.forEach(openFiles::remove);
    }
    return orphans;
  }

  private void adopt(List<ChannelFile> orphans, String name) {
    synchronized (names) {
      orphans.forEach(file -> openFiles.put(file, name));
    }
  }

  @Override
  public List<String> list() throws IOException {
    requireOpen();
    checkDirectory();
    List<String> files = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
      for (Path entry : entries) {
        if (!Files.isDirectory(entry)) {
          files.add(entry.getFileName().toString());
        }
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    files.sort(null);
    return files;
  }

  @Override
  public void syncDirectory() throws IOException {
    requireOpen();
    checkDirectory();
    if (directorySync != null) {
      directorySync.force(true);
    } else {
      syncDirectory(directory);
    }
  }

  @Override
  public StorageLock lock(String name, boolean shared) throws IOException {
    requireOpen();
    if (StoreFiles.kindOf(name) != StoreFiles.Kind.LOCK) {
      throw new IllegalArgumentException("not a lock file: " + name);
    }
    checkDirectory();
    ProcessLocks.Lock taken = ProcessLocks.lock(pathOf(name), shared);
    boolean isOurs = false;
    try {
      lock = taken;
      if (!shared && taken.isFresh() && exists(StoreFiles.CURRENT)) {
        awaitFormerHolder();
      }
      checkDirectory();
      isOurs = true;
      return taken;
    } finally {
      if (!isOurs) {
        taken.close();
      }
    }
  }

  /**
   * A store without a lock file that a store has left: the file may have been deleted while another
   * process holds it. Such a process notices it ten times a second, and writes no more.
   */
  private static void awaitFormerHolder() {
    boolean interrupted = false;
    boolean waited = false;
    while (!waited) {
      try {
        TimeUnit.SECONDS.sleep(FORMER_HOLDER_SECONDS);
        waited = true;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public boolean load(ByteBuffer mapped) {
    MappedByteBuffer part = (MappedByteBuffer) mapped;
    if (isInMemory(part)) {
      return false;
    }
    try {
      part.load();
    } catch (Exception e) {
      // An IOException that the method does not declare: the first access reads the pages instead.
    }
    return true;
  }

  /** Whether all of it is in memory now; no where the system does not tell. */
  private boolean isInMemory(MappedByteBuffer part) {
    if (!isTold) {
      return false;
    }
    try {
      return part.isLoaded();
    } catch (Exception e) {
      // An IOException that the method does not declare: a filter of system calls refuses.
      isTold = false;
      return false;
    }
  }

  @Override
  public NewDirectory newDirectory(Path target) throws IOException {
    requireOpen();
    checkDirectory();
    return FileDirectory.begin(this, target);
  }

  @Override
  public String location() {
    return directory.toString();
  }

  @Override
  public void close() {
    closed = true;
    if (directorySync != null) {
      try {
        directorySync.close();
      } catch (IOException e) {
        // Nothing is written through it.
        return;
      }
    }
  }

  private void requireOpen() throws IOException {
    if (closed) {
      throw new IOException("storage is closed: " + directory);
    }
  }

  /** Where a file is that is about to be used by its name. */
  Path checkedPath(String name) throws IOException {
    Path path = pathOf(requireNotLock(name));
    checkDirectory();
    return path;
  }

  private Path pathOf(String name) {
    return directory.resolve(StoreFiles.requirePlain(name));
  }

  /**
   * Closing any channel of a file releases the locks that the process has on it, so a lock file is
   * never opened but to be locked.
   */
  private static String requireNotLock(String name) {
    if (StoreFiles.kindOf(name) == StoreFiles.Kind.LOCK) {
      throw new IllegalArgumentException("a lock file can only be locked: " + name);
    }
    return name;
  }

  /**
   * Makes a directory and its missing parents, and their entries durable.
   *
   * @return those that were missing, outermost first
   */
  public static List<Path> createDirectories(Path directory) throws IOException {
    Deque<Path> missing = new ArrayDeque<>();
    for (Path path = directory; path != null && !Files.exists(path); path = path.getParent()) {
      missing.push(path);
    }
    Files.createDirectories(directory);
    for (Path path : missing) {
      Path parent = path.getParent();
      if (parent != null) {
        syncDirectory(parent);
      }
    }
    return List.copyOf(missing);
  }

  /** Deletes directories that {@link #createDirectories} has made, as far as they are empty. */
  public static void deleteDirectories(List<Path> made) {
    for (int i = made.size() - 1; i >= 0; i--) {
      try {
        Files.deleteIfExists(made.get(i));
      } catch (IOException e) {
        // Something else is there by now, or the device refuses: then one in front of it may go.
      }
    }
  }

  static void syncDirectory(Path directory) throws IOException {
    if (DIRECTORIES_SYNC) {
      try (AsynchronousFileChannel handle = opened(directory)) {
        handle.force(true);
      }
    }
  }
}
