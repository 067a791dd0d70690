package io.kvsep.internal.sstable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts who holds something that has to be given back; the last one to let go gives it back.
 * Starts with the pin of whoever made it. What was given back stays so: nobody can pin it again.
 *
 * <p>Thread safe. What a holder did before {@link #unpin} happens before it is given back.
 */
public final class PinCount {
  private static final VarHandle COUNT = countHandle();

  private final Runnable release;

  @SuppressWarnings("unused") // written through COUNT only
  private volatile int count = 1;

  /**
   * @param release gives it back; called once
   */
  public PinCount(Runnable release) {
    this.release = release;
  }

  /** Holds it until {@link #unpin}. False when it was given back already. */
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
