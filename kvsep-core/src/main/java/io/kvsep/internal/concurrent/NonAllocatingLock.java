package io.kvsep.internal.concurrent;

import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock that is had where there is no memory, too, so that whoever has to give something back can.
 * In Java 17 a thread that has to wait for a {@link ReentrantLock} makes an object first, and
 * {@link #lock} throws where there is no room for it; it has not begun to wait then.
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
      // Below, without waiting in the queue.
    }
    while (!tryLock()) {
      Uninterruptibles.pause(PARK_NANOS);
    }
  }
}
