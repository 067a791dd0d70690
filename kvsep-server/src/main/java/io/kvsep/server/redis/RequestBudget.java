package io.kvsep.server.redis;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of commands that are being received or carried out, over all connections. Small commands
 * pass free, as the number of connections bounds them; long ones have to be reserved before an
 * array is made for them. Thread safe.
 */
final class RequestBudget {
  /** What each command may take without asking. */
  static final long FREE_BYTES = 64 << 10;

  private final AtomicLong left;

  RequestBudget(long bytes) {
    left = new AtomicLong(bytes);
  }

  boolean reserve(long bytes) {
    if (bytes == 0) {
      return true;
    }
    while (true) {
      long now = left.get();
      if (bytes > now) {
        return false;
      }
      if (left.compareAndSet(now, now - bytes)) {
        return true;
      }
    }
  }

  void release(long bytes) {
    if (bytes != 0) {
      left.addAndGet(bytes);
    }
  }

  long left() {
    return left.get();
  }
}
