package io.kvsep.internal.io;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.error.StoreFailedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A storage that stops being used when its directory is lost or could not be synced.
 *
 * <p>After a failed sync of the directory every later one fails. The system may have forgotten that
 * some names, even of other threads, are on no device: a repeated sync would succeed without them,
 * and a manifest would then name files that a power failure removes. (Rebello et al., "Can
 * Applications Recover from fsync Failures?", 2020.)
 *
 * <p>After a {@link LostDirectoryException} operations by name fail, even if the directory is put
 * back, because another store may have used it. They throw a {@link StoreFailedException}; {@link
 * #delete} and {@link #syncDirectory} throw an {@link IOException}, because their callers have more
 * to do.
 *
 * <p>Thread safe; one thread at a time syncs the directory.
 */
public final class FailStopStorage extends ForwardingStorage {
  private final Listener listener;
  private final Object syncing = new Object();
  private volatile @Nullable LostDirectoryException lost;

  @GuardedBy("syncing")
  private @Nullable IOException failure;

  /**
   * @param listener called before the caller sees the failure
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

  /** Records a failure and creates the error that callers get. */
  public interface Listener {
    StoreFailedException failed(IOException cause);
  }

  private interface Attempt<T> {
    T run() throws IOException;
  }
}
