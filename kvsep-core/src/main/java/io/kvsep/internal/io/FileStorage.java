package io.kvsep.internal.io;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
 * <p>{@link ChannelFile} reopens a file by the current name kept here, so open files may be renamed
 * and deleted only through this class. Subdirectories are neither listed nor touched.
 *
 * <p>The file keys of the directory and the lock file are checked before each operation by name,
 * and again after an open. A replacement in the microseconds between check and another operation
 * goes unnoticed. Windows has no file keys, but there a directory with open files cannot be moved
 * or deleted.
 *
 * <p>Thread safe. A lock is held while opening and renaming, never during transfers, syncs and
 * deletes, which can take long.
 */
public final class FileStorage implements Storage {
  private static final Set<OpenOption> READ = Set.of(StandardOpenOption.READ);
  private static final Set<OpenOption> READ_WRITE =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE);
  private static final Set<OpenOption> CREATE =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);

  /**
   * Windows cannot sync a directory: its file systems journal changes and have no call to wait for
   * them.
   */
  private static final boolean DIRECTORIES_SYNC = File.separatorChar == '/';

  /**
   * Set to false where a system call filter kills a process that calls mincore, which cannot be
   * detected in advance.
   */
  private static final String MINCORE_PROPERTY = "kvsep.mincore";

  /** Much longer than a store takes to notice that its lock file is gone. */
  private static final long FORMER_HOLDER_SECONDS = 1;

  private final Path directory;

  /**
   * Opened before any change, so that it sees every sync failure, and so that a lack of file
   * handles is no sync failure. Null if unavailable or not needed.
   */
  private final @Nullable AsynchronousFileChannel directorySync;

  /**
   * File key of the directory, null if the system has none. Unique while {@link #directorySync} or
   * the lock file keeps the directory open.
   */
  private final @Nullable Object identity;

  /** The last lock taken. */
  private volatile ProcessLocks.@Nullable Lock lock;

  private final Object names = new Object();

  @GuardedBy("names")
  private final Map<ChannelFile, String> openFiles = new HashMap<>();

  /**
   * Whether mincore tells what is in memory. False if the process may not write the files, which
   * Linux then reports as wholly in memory; cleared if the system refuses.
   */
  private volatile boolean isTold;

  private volatile boolean closed;

  /**
   * @throws NoSuchFileException if the directory is missing and {@code createIfMissing} is false
   * @throws NotDirectoryException if the path is something else
   */
  public FileStorage(Path directory, boolean createIfMissing) throws IOException {
    boolean made = false;
    // In this order: another process may create the directory between the two checks.
    if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
      if (!createIfMissing) {
        throw new NoSuchFileException(directory.toString());
      }
      // Syncs the entries of all that it makes.
      made = !createDirectories(directory.toAbsolutePath()).isEmpty();
    } else if (!Files.isDirectory(directory)) {
      throw new NotDirectoryException(directory.toString());
    }
    // Independent of later changes of the working directory or of links.
    this.directory = directory.toRealPath();
    Path current = this.directory.resolve(StoreFiles.CURRENT);
    boolean isStore = Files.exists(current);
    this.isTold =
        Boolean.parseBoolean(System.getProperty(MINCORE_PROPERTY, "true"))
            && Files.isWritable(isStore ? current : this.directory);
    if (createIfMissing && !isStore && !made) {
      syncEntryOf(this.directory);
    }
    this.identity = Files.readAttributes(this.directory, BasicFileAttributes.class).fileKey();
    this.directorySync =
        DIRECTORIES_SYNC && Files.isReadable(this.directory) ? opened(this.directory) : null;
  }

  /** Null if there is no file or no file key. */
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

  /** An interrupt would close a FileChannel and hide a failure; see ChannelFile. */
  private static AsynchronousFileChannel opened(Path directory) throws IOException {
    return AsynchronousFileChannel.open(directory, StandardOpenOption.READ);
  }

  /** The creator of the directory may have died before its entry was durable. */
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
      // The directory may have been replaced meanwhile.
      checkDirectory();
      isOurs = true;
      return channel;
    } finally {
      if (!isOurs) {
        channel.close();
      }
    }
  }

  /** For a file that lost its channel; works after close as well. */
  FileChannel reopen(ChannelFile file) throws IOException {
    synchronized (names) {
      String name = openFiles.get(file);
      if (name == null) {
        // Deleted, or replaced by a rename.
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
      // Files.exists returns false on an error, and a new store would overwrite this one.
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
    // First, so that no file is reopened as a later one of the same name.
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

  /** Windows refuses to delete a mapped file. */
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
   * A store without a lock file, or with an empty one: the file may have been deleted while another
   * process held it. That process checks ten times a second and then stops writing.
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
      // An undeclared IOException; the first access reads the pages instead.
    }
    return true;
  }

  /** False if the system does not report it. */
  private boolean isInMemory(MappedByteBuffer part) {
    if (!isTold) {
      return false;
    }
    try {
      return part.isLoaded();
    } catch (Exception e) {
      // An undeclared IOException: a system call filter refuses.
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

  Path checkedPath(String name) throws IOException {
    Path path = pathOf(requireNotLock(name));
    checkDirectory();
    return path;
  }

  private Path pathOf(String name) {
    return directory.resolve(StoreFiles.requirePlain(name));
  }

  /**
   * A lock file is opened only to be locked: closing any channel of it releases all locks of the
   * process on it.
   */
  private static String requireNotLock(String name) {
    if (StoreFiles.kindOf(name) == StoreFiles.Kind.LOCK) {
      throw new IllegalArgumentException("a lock file can only be locked: " + name);
    }
    return name;
  }

  /**
   * Creates a directory and its parents durably; returns those that were missing, outermost first.
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

  /** Deletes those directories of {@link #createDirectories} that are empty. */
  public static void deleteDirectories(List<Path> made) {
    for (int i = made.size() - 1; i >= 0; i--) {
      try {
        Files.deleteIfExists(made.get(i));
      } catch (IOException e) {
        // Not empty any more, or the device refuses.
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
