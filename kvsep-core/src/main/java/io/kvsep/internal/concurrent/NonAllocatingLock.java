package io.kvsep.internal.concurrent;

import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock whose {@link #lock} works without memory, so that cleanup can run after memory has run
 * out. On Java 17 a thread that waits for a {@link ReentrantLock} first allocates a node; if that
 * fails, {@code lock} throws before it waits.
 */
public final class NonAllocatingLock extends ReentrantLock {
  private static final long serialVersionUID = 1L;
  private static final long PARK_NANOS = 10_000;

  @Override
  public void lock() {
    try {
      super.lock();
      return;
    } catch (OutOfMemoryError e) {
      // Poll below instead of queueing.
    }
    while (!tryLock()) {
      Uninterruptibles.pause(PARK_NANOS);
    }
  }
}
