package io.kvsep.internal.concurrent;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Reference count of a resource, initially 1 for the creator. The last unpin releases it for good.
 *
 * <p>Thread safe. All actions of a holder before {@link #unpin} happen before the release.
 */
public final class PinCount {
  private final Runnable release;
  private final AtomicInteger count = new AtomicInteger(1);

  /**
   * @param release called once
   */
  public PinCount(Runnable release) {
    this.release = release;
  }

  /** False if the resource is released. */
  public boolean tryPin() {
    int held = count.get();
    while (held > 0) {
      if (count.compareAndSet(held, held + 1)) {
        return true;
      }
      held = count.get();
    }
    return false;
  }

  public void unpin() {
    int held = count.getAndDecrement();
    if (held == 1) {
      release.run();
    } else if (held < 1) {
      throw new IllegalStateException("unpinned more often than pinned");
    }
  }
}
