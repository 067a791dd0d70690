package io.kvsep.internal.io;

import java.io.IOException;
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
public final class FailStopStorage extends ForwardingStorage {
  private final Consumer<IOException> failed;
  private final Object syncing = new Object();

  /** Guarded by syncing. */
  private @Nullable IOException failure;

  /**
   * @param failed is told of the first failure before the caller is
   */
  public FailStopStorage(Storage storage, Consumer<IOException> failed) {
    super(storage);
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
        super.syncDirectory();
      } catch (IOException e) {
        failure = e;
        failed.accept(e);
        throw e;
      }
    }
  }
}
