package io.kvsep.testing;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** A storage whose next sync of the log can be held. Thread safe. */
public final class HeldSyncs extends ForwardingStorage {
  private volatile @Nullable CountDownLatch held;
  private volatile @Nullable CountDownLatch free;

  public HeldSyncs(Storage storage) {
    super(storage);
  }

  /** Holds the next one: {@code whenHeld} is counted down then, {@code untilFree} ends it. */
  public void hold(CountDownLatch whenHeld, CountDownLatch untilFree) {
    free = untilFree;
    held = whenHeld;
  }

  private void pass() {
    CountDownLatch reached = held;
    CountDownLatch open = free;
    if (reached == null || open == null) {
      return;
    }
    held = null;
    reached.countDown();
    try {
      open.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  protected StorageFile wrap(StorageFile file) {
    return !file.name().endsWith(".vlog")
        ? file
        : new ForwardingFile(file) {
          @Override
          public void sync() throws IOException {
            pass();
            super.sync();
          }
        };
  }
}
