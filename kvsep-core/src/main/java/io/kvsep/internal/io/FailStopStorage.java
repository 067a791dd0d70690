package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A storage whose directory is not synced again once that has failed: every later try fails for the
 * same reason. All names are still there to be seen, but the system may have forgotten that some
 * are on no device, also such as another thread made; the next sync would succeed without them, and
 * a manifest would then name what a power failure takes away. (Rebello et al., "Can Applications
 * Recover from fsync Failures?", 2020.)
 *
 * <p>Thread safe; one sync of the directory at a time.
 */
public final class FailStopStorage implements Storage {
  private final Storage storage;
  private final Consumer<IOException> failed;
  private final Object syncing = new Object();

  /** Guarded by syncing. */
  private @Nullable IOException failure;

  /**
   * @param failed is told of the first failure before the caller is
   */
  public FailStopStorage(Storage storage, Consumer<IOException> failed) {
    this.storage = storage;
    this.failed = failed;
  }

  @Override
  public void syncDirectory() throws IOException {
    synchronized (syncing) {
      IOException earlier = failure;
      if (earlier != null) {
        throw new IOException("an earlier sync of the directory failed", earlier);
      }
      try {
        storage.syncDirectory();
      } catch (IOException e) {
        failure = e;
        failed.accept(e);
        throw e;
      }
    }
  }

  @Override
  public StorageFile create(String name) throws IOException {
    return storage.create(name);
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    return storage.open(name, writable);
  }

  @Override
  public boolean exists(String name) throws IOException {
    return storage.exists(name);
  }

  @Override
  public void rename(String source, String target) throws IOException {
    storage.rename(source, target);
  }

  @Override
  public void delete(String name) throws IOException {
    storage.delete(name);
  }

  @Override
  public boolean deletesMapped() {
    return storage.deletesMapped();
  }

  @Override
  public List<String> list() throws IOException {
    return storage.list();
  }

  @Override
  public StorageLock lock(String name, boolean shared) throws IOException {
    return storage.lock(name, shared);
  }

  @Override
  public boolean isInMemory(ByteBuffer mapped) {
    return storage.isInMemory(mapped);
  }

  @Override
  public NewDirectory newDirectory(Path target) throws IOException {
    return storage.newDirectory(target);
  }

  @Override
  public String location() {
    return storage.location();
  }

  @Override
  public void close() throws IOException {
    storage.close();
  }
}
