package io.kvsep.internal.io;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.StoreLockedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A directory in direct memory, gone when it is no longer referenced. The files together take as
 * much as the JVM allows direct memory ({@code -XX:MaxDirectMemorySize}, by default the maximum
 * heap size); beyond that writes fail like those on a full disk. There is no crash to survive, so
 * syncs do nothing. Thread safe.
 *
 * <p>The memory of deleted files is freed at once if they were never mapped, and otherwise by the
 * garbage collector, as views may still show them.
 */
public final class MemoryStorage implements Storage {
  private static final String LOCATION = "memory";
  private static final int EXCLUSIVE = -1;

  @GuardedBy("itself")
  private final TreeMap<String, MemoryFile.Content> files = new TreeMap<>();

  /** Shared locks held, {@link #EXCLUSIVE} for one that is not shared. */
  @GuardedBy("files")
  private int locks;

  @GuardedBy("files")
  private boolean closed;

  @Override
  public StorageFile create(String name) throws IOException {
    requireNotLock(name);
    synchronized (files) {
      requireOpen();
      if (files.containsKey(name)) {
        throw new FileAlreadyExistsException(name);
      }
      MemoryFile.Content content = new MemoryFile.Content();
      files.put(name, content);
      return new MemoryFile(name, content, /* writable= */ true);
    }
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    requireNotLock(name);
    synchronized (files) {
      return new MemoryFile(name, require(name), writable);
    }
  }

  @Override
  public boolean exists(String name) throws IOException {
    StoreFiles.requirePlain(name);
    synchronized (files) {
      requireOpen();
      return files.containsKey(name);
    }
  }

  @Override
  public void rename(String source, String target) throws IOException {
    requireNotLock(source);
    requireNotLock(target);
    synchronized (files) {
      MemoryFile.Content moved = require(source);
      if (!source.equals(target)) {
        files.remove(source);
        forget(files.put(target, moved));
      }
    }
  }

  @Override
  public void delete(String name) throws IOException {
    synchronized (files) {
      if (locks != 0) {
        requireNotLock(name);
      }
      require(name);
      forget(files.remove(name));
    }
  }

  private static void requireNotLock(String name) {
    if (StoreFiles.kindOf(StoreFiles.requirePlain(name)) == StoreFiles.Kind.LOCK) {
      throw new IllegalArgumentException("a lock file can only be locked: " + name);
    }
  }

  private static void forget(MemoryFile.@Nullable Content content) {
    if (content != null) {
      content.unlink();
    }
  }

  @GuardedBy("files")
  private MemoryFile.Content require(String name) throws IOException {
    StoreFiles.requirePlain(name);
    requireOpen();
    MemoryFile.Content content = files.get(name);
    if (content == null) {
      throw new NoSuchFileException(name);
    }
    return content;
  }

  @GuardedBy("files")
  private void requireOpen() throws IOException {
    if (closed) {
      throw new IOException("storage is closed: " + LOCATION);
    }
  }

  @Override
  public boolean deletesMapped() {
    return true;
  }

  @Override
  public List<String> list() throws IOException {
    synchronized (files) {
      requireOpen();
      return new ArrayList<>(files.keySet());
    }
  }

  @Override
  public void syncDirectory() throws IOException {
    synchronized (files) {
      requireOpen();
    }
  }

  @Override
  public StorageLock lock(String name, boolean shared) throws IOException {
    if (StoreFiles.kindOf(name) != StoreFiles.Kind.LOCK) {
      throw new IllegalArgumentException("not a lock file: " + name);
    }
    synchronized (files) {
      requireOpen();
      if (locks != 0 && !(shared && locks > 0)) {
        throw new StoreLockedException("the store in memory is open already");
      }
      files.computeIfAbsent(name, absent -> new MemoryFile.Content());
      locks = shared ? locks + 1 : EXCLUSIVE;
    }
    AtomicBoolean held = new AtomicBoolean(true);
    return () -> {
      if (held.getAndSet(false)) {
        unlock();
      }
    };
  }

  private void unlock() {
    synchronized (files) {
      locks = locks == EXCLUSIVE ? 0 : locks - 1;
    }
  }

  @Override
  public boolean load(ByteBuffer mapped) {
    return false;
  }

  /** A directory of the default file system, into which files are copied. */
  @Override
  public NewDirectory newDirectory(Path target) throws IOException {
    synchronized (files) {
      requireOpen();
    }
    return FileDirectory.begin(/* source= */ null, target);
  }

  @Override
  public void checkDirectory() {}

  @Override
  public String location() {
    return LOCATION;
  }

  /** Forgets all files. */
  @Override
  public void close() {
    synchronized (files) {
      closed = true;
      files.values().forEach(MemoryFile.Content::unlink);
      files.clear();
    }
  }
}
