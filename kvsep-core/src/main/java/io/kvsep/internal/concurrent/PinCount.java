package io.kvsep.internal.sstable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Reference count of a resource, initially 1 for the creator. The last unpin releases the resource,
 * which cannot be pinned again.
 *
 * <p>Thread safe. All actions of a holder before {@link #unpin} happen before the release.
 */
public final class PinCount {
  private static final VarHandle COUNT = countHandle();

  private final Runnable release;

  @SuppressWarnings("unused") // written through COUNT only
  private volatile int count = 1;

  /**
   * @param release called once
   */
  public PinCount(Runnable release) {
    this.release = release;
  }

  /** Returns false if the resource is released. */
  public boolean tryPin() {
    int held = count;
    while (held > 0) {
      if (COUNT.compareAndSet(this, held, held + 1)) {
        return true;
      }
      held = count;
    }
    return false;
  }

  public void unpin() {
    int held = (int) COUNT.getAndAdd(this, -1);
    if (held == 1) {
      release.run();
    } else if (held < 1) {
      throw new IllegalStateException("unpinned more often than pinned");
    }
  }

  private static VarHandle countHandle() {
    try {
      return MethodHandles.lookup().findVarHandle(PinCount.class, "count", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}
