package io.kvsep.internal.concurrent;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Wakes threads, for callers that must not fail. Waking a virtual thread may allocate, and its
 * scheduler may reject it. Then that thread, and any thread that waits for it, is not woken.
 */
public final class SafeUnpark {
  private SafeUnpark() {}

  /** Throws nothing. Does nothing for null. */
  public static void wake(@Nullable Thread thread) {
    try {
      LockSupport.unpark(thread);
    } catch (OutOfMemoryError | RejectedExecutionException e) {
      return;
    }
  }
}
