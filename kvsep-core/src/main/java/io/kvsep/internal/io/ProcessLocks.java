package io.kvsep.internal.io;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.StoreLockedException;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The lock files that this process holds.
 *
 * <p>Locks of the operating system do not exclude the own process, and on POSIX all are lost when
 * the process closes any channel of the file. So each lock file, identified by its real path, has
 * at most one channel, shared by all holders. {@link LockOwner} protects against other code of this
 * process that opens the file.
 *
 * <p>Another class loader of this JVM may have its own copy of this class. Only an attempt to lock
 * detects its lock, and closing the channel of the attempt would release that lock. So the channel
 * is kept for the next attempt, even if another file has taken the path: the old file may have been
 * moved with the lock on it.
 *
 * <p>Thread safe. One monitor suffices, since opening a store takes one lock.
 */
final class ProcessLocks {
  @GuardedBy("itself")
  private static final Map<Path, Holding> HELD = new HashMap<>();

  /** Channels that must not be closed, at most two per file. */
  @GuardedBy("HELD")
  private static final Map<Attempt, FileChannel> KEPT = new HashMap<>();

  private ProcessLocks() {}

  /** Creates the file if missing. Requires a real path. */
  static Lock lock(Path path, boolean shared) throws IOException {
    synchronized (HELD) {
      Holding holding = HELD.get(path);
      if (holding == null) {
        holding = locked(path, shared);
        HELD.put(path, holding);
      } else if (!shared || !holding.shared) {
        throw new StoreLockedException("store is open in this process: " + path);
      }
      holding.holderCount++;
      return new Lock(path, holding);
    }
  }

  static boolean isHeld(Path path) {
    synchronized (HELD) {
      return HELD.containsKey(path);
    }
  }

  @GuardedBy("HELD")
  private static Holding locked(Path path, boolean shared) throws IOException {
    boolean interrupted = Thread.interrupted();
    try {
      while (true) {
        Object file = keyOf(path);
        FileChannel kept = KEPT.remove(new Attempt(path, shared, file));
        FileChannel channel = kept != null ? kept : opened(path, shared);
        boolean closes = true;
        try {
          FileLock lock = channel.tryLock(0, Long.MAX_VALUE, shared);
          if (lock == null) {
            throw new StoreLockedException("store is open in another process: " + path);
          }
          Object locked = keyOf(path);
          if (file != null && !file.equals(locked)) {
            // The file was replaced before it was opened.
            continue;
          }
          boolean fresh = locked != null && channel.size() == 0;
          keepOthersOut(channel, path, shared);
          closes = false;
          return new Holding(channel, shared, locked, fresh);
        } catch (OverlappingFileLockException e) {
          closes = false;
          KEPT.put(new Attempt(path, shared, file != null ? file : keyOf(path)), channel);
          throw new StoreLockedException("store is open in this process, by other code: " + path);
        } catch (ClosedChannelException e) {
          interrupted |= Thread.interrupted();
        } finally {
          if (closes) {
            channel.close();
          }
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Detects a process that has lost its lock, see {@link LockOwner}. If writing the identity fails,
   * for example on a full disk, only the lock protects.
   */
  private static void keepOthersOut(FileChannel channel, Path path, boolean shared)
      throws IOException {
    Object file = keyOf(path);
    if (file == null) {
      return;
    }
    Long other = LockOwner.otherAlive(channel, file);
    if (other != null) {
      throw new StoreLockedException(
          "store is open in process " + other + ", which has lost its lock: " + path);
    }
    try {
      if (!shared) {
        LockOwner.write(channel, file);
      }
    } catch (ClosedChannelException e) {
      throw e;
    } catch (IOException e) {
      return;
    }
  }

  /** Unique among all existing and open files; null without a file or file keys. */
  private static @Nullable Object keyOf(Path path) {
    try {
      return Files.readAttributes(path, BasicFileAttributes.class).fileKey();
    } catch (IOException e) {
      return null;
    }
  }

  private static FileChannel opened(Path path, boolean shared) throws IOException {
    if (shared) {
      try {
        // Suffices for a shared lock and needs no write permission.
        return FileChannel.open(path, StandardOpenOption.READ);
      } catch (NoSuchFileException e) {
        // Created below.
      }
    }
    return FileChannel.open(
        path, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
  }

  private static void release(Path path, Holding holding) throws IOException {
    synchronized (HELD) {
      holding.holderCount--;
      if (holding.holderCount == 0) {
        HELD.remove(path);
        if (!holding.shared) {
          eraseOwner(path, holding);
        }
        // Releases the lock.
        holding.channel.close();
      }
    }
  }

  private static void eraseOwner(Path path, Holding holding) {
    boolean interrupted = Thread.interrupted();
    try {
      boolean erased = false;
      try {
        LockOwner.erase(holding.channel);
        erased = true;
      } catch (ClosedChannelException e) {
        // An interrupt closed it and released the lock; the identity still keeps others out.
        interrupted |= Thread.interrupted();
      }
      while (!erased && Objects.equals(holding.file, keyOf(path))) {
        try (FileChannel again =
            FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
          LockOwner.eraseOwn(again);
          erased = true;
        } catch (ClosedChannelException e) {
          interrupted |= Thread.interrupted();
        }
      }
    } catch (IOException e) {
      // The identity keeps other processes out until this one ends.
      return;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Channels for shared and exclusive locks are opened differently. */
  private record Attempt(Path path, boolean shared, @Nullable Object file) {}

  /** One lock of the operating system. */
  private static final class Holding {
    final FileChannel channel;
    final boolean shared;

    final @Nullable Object file;

    final boolean fresh;

    @GuardedBy("HELD")
    int holderCount;

    Holding(FileChannel channel, boolean shared, @Nullable Object file, boolean fresh) {
      this.channel = channel;
      this.shared = shared;
      this.file = file;
      this.fresh = fresh;
    }
  }

  static final class Lock implements StorageLock {
    private final Path path;

    @GuardedBy("this")
    private @Nullable Holding holding;

    Lock(Path path, Holding holding) {
      this.path = path;
      this.holding = holding;
    }

    /** File key; null after close, or if the system has none. */
    synchronized @Nullable Object file() {
      Holding held = holding;
      return held == null ? null : held.file;
    }

    /** Whether the file was empty: no earlier holder has left a line. */
    synchronized boolean isFresh() {
      Holding held = holding;
      return held != null && held.fresh;
    }

    @Override
    public synchronized void close() throws IOException {
      Holding held = holding;
      holding = null;
      if (held != null) {
        release(path, held);
      }
    }
  }
}
