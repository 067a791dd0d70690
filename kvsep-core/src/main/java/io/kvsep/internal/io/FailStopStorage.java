package io.kvsep.internal.io;

import io.kvsep.error.StoreFailedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A storage that is not used any further once its directory is lost or could not be synced.
 *
 * <p>A sync of the directory that failed is not repeated: every later try fails for the same
 * reason. All names are still there to be seen, but the system may have forgotten that some are on
 * no device, also such as another thread made; the next sync would succeed without them, and a
 * manifest would then name what a power failure takes away. (Rebello et al., "Can Applications
 * Recover from fsync Failures?", 2020.)
 *
 * <p>After a {@link LostDirectoryException} no file is created, opened, renamed or deleted any
 * more, also where the directory is put back: another store may have been at work in it. That is a
 * {@link StoreFailedException} at once, but for {@link #delete} and {@link #syncDirectory}, which
 * are an {@link IOException} as ever, since their callers have something left to do.
 *
 * <p>Thread safe; one sync of the directory at a time.
 */
public final class FailStopStorage extends ForwardingStorage {
  private final Listener listener;
  private final Object syncing = new Object();
  private volatile @Nullable LostDirectoryException lost;

  /** Guarded by syncing. */
  private @Nullable IOException failure;

  /**
   * @param listener is told of a failure before the caller is
   */
  public FailStopStorage(Storage storage, Listener listener) {
    super(storage);
    this.listener = listener;
  }

  @Override
  public StorageFile create(String name) throws IOException {
    return unlessLost(() -> super.create(name));
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    return unlessLost(() -> super.open(name, writable));
  }

  @Override
  public boolean exists(String name) throws IOException {
    return unlessLost(() -> super.exists(name));
  }

  @Override
  public void rename(String source, String target) throws IOException {
    unlessLost(
        () -> {
          super.rename(source, target);
          return target;
        });
  }

  @Override
  public void delete(String name) throws IOException {
    LostDirectoryException earlier = lost;
    if (earlier != null) {
      throw new IOException("not deleted: " + name, earlier);
    }
    try {
      super.delete(name);
    } catch (LostDirectoryException e) {
      lose(e);
      throw e;
    }
  }

  @Override
  public List<String> list() throws IOException {
    return unlessLost(super::list);
  }

  @Override
  public StorageLock lock(String name, boolean shared) throws IOException {
    return unlessLost(() -> super.lock(name, shared));
  }

  @Override
  public NewDirectory newDirectory(Path target) throws IOException {
    return unlessLost(() -> super.newDirectory(target));
  }

  @Override
  public void checkDirectory() throws IOException {
    unlessLost(
        () -> {
          super.checkDirectory();
          return this;
        });
  }

  private <T> T unlessLost(Attempt<T> attempt) throws IOException {
    LostDirectoryException earlier = lost;
    if (earlier != null) {
      throw listener.failed(earlier);
    }
    try {
      return attempt.run();
    } catch (LostDirectoryException e) {
      throw lose(e);
    }
  }

  private StoreFailedException lose(LostDirectoryException e) {
    lost = e;
    return listener.failed(e);
  }

  @Override
  public void syncDirectory() throws IOException {
    synchronized (syncing) {
      IOException earlier = failure == null ? lost : failure;
      if (earlier != null) {
        throw new IOException("an earlier failure of the directory", earlier);
      }
      try {
        super.syncDirectory();
      } catch (LostDirectoryException e) {
        lose(e);
        throw e;
      } catch (IOException e) {
        failure = e;
        listener.failed(e);
        throw e;
      }
    }
  }

  /** Takes a failure down and makes the error of it that callers get. */
  public interface Listener {
    StoreFailedException failed(IOException cause);
  }

  private interface Attempt<T> {
    T run() throws IOException;
  }
}
