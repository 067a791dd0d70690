package io.kvsep.internal.concurrent;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Wakes threads for those who must go on whatever becomes of it. Waking a virtual thread may make
 * something, for which there may be no memory, and hands it to a scheduler, which may refuse it:
 * then that thread sleeps on, and whoever waits for it waits as well.
 */
public final class SafeUnpark {
  private SafeUnpark() {}

  /** Throws nothing; without a thread there is nothing to do. */
  public static void wake(@Nullable Thread thread) {
    try {
      LockSupport.unpark(thread);
    } catch (OutOfMemoryError | RejectedExecutionException e) {
      return;
    }
  }
}
