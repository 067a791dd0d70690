package io.kvsep.internal.io;

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
 * <p>Locks of the operating system exclude other processes but not the own one, and on POSIX all of
 * them are lost when the process closes any channel of the file. So there is at most one channel
 * for each lock file, shared by all who share the lock, and none is opened to find out whether a
 * lock is held here. Files are told apart by their real path. Against other code of this process
 * that opens the file there is {@link LockOwner}.
 *
 * <p>Another class loader of this JVM may have its own copy of this class. Its lock is noticed only
 * by trying, for which a channel must be opened, and closing that channel would release the other's
 * lock. So such a channel is kept for the next try instead. Where another file has taken the place
 * of that one, as with a directory that was deleted and made again, it is kept all the same: the
 * old one may only have been moved, with a lock on it.
 *
 * <p>Thread safe; one lock over everything, since a lock is taken once for each opening of a store.
 */
final class ProcessLocks {
  /** Guarded by itself. */
  private static final Map<Path, Holding> HELD = new HashMap<>();

  /** Channels that must not be closed, at most two for each file that was tried; under HELD. */
  private static final Map<Attempt, FileChannel> KEPT = new HashMap<>();

  private ProcessLocks() {}

  /** Locks the file, which is made when absent. The path is a real path. */
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
            // Replaced before it was open.
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
   * Minds a process that has lost its lock, see {@link LockOwner}. Where the name cannot be
   * written, as on a full disk, there is the lock alone.
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

  /**
   * What tells the file from all others there are, open ones included; null when there is none, or
   * the system does not say.
   */
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
        // Enough to share a lock, and possible where nothing may be written.
        return FileChannel.open(path, StandardOpenOption.READ);
      } catch (NoSuchFileException e) {
        // Made below.
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
        // Closing the channel releases the lock.
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
        // By an interrupt, and the lock went with it; the name still keeps others out.
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
      // Then other processes are kept out until this one ends.
      return;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Channels to share a lock and to have it alone are opened differently. */
  private record Attempt(Path path, boolean shared, @Nullable Object file) {}

  /** One lock of the operating system and how many share it. */
  private static final class Holding {
    final FileChannel channel;
    final boolean shared;

    /** As the system calls it; null where it does not say. */
    final @Nullable Object file;

    final boolean fresh;
    int holderCount;

    Holding(FileChannel channel, boolean shared, @Nullable Object file, boolean fresh) {
      this.channel = channel;
      this.shared = shared;
      this.file = file;
      this.fresh = fresh;
    }
  }

  /** One of those who share it. */
  static final class Lock implements StorageLock {
    private final Path path;
    private @Nullable Holding holding;

    Lock(Path path, Holding holding) {
      this.path = path;
      this.holding = holding;
    }

    /** What tells the locked file from all others; null when it is not held, or nothing does. */
    synchronized @Nullable Object file() {
      Holding held = holding;
      return held == null ? null : held.file;
    }

    /** Whether the file was empty: then it was not left there by a holder. */
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
