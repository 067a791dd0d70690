package io.kvsep.server.redis;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the bytes of commands being received or executed, over all connections, and of what they
 * read onto the heap. Small commands are free, as the number of connections bounds them; long ones
 * are reserved before an array is allocated. Thread safe.
 */
final class RequestBudget {
  /** Bytes that each command may take without a reservation. */
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

  /**
   * Opens a share for a short command that reads a lot; close it when the data is no longer needed.
   */
  Share share() {
    return new Share();
  }

  /** What one command has read. For one thread. */
  final class Share implements AutoCloseable {
    private long taken;
    private long reserved;

    private Share() {}

    /** Throws if the budget does not allow more bytes. Reserves in steps. */
    void take(long bytes) {
      taken += bytes;
      long lacking = taken - FREE_BYTES - reserved;
      if (lacking > 0) {
        long step = Math.max(FREE_BYTES, lacking);
        if (!reserve(step)) {
          throw new CommandLimitException("no memory for this command beside those under way");
        }
        reserved += step;
      }
    }

    @Override
    public void close() {
      release(reserved);
      reserved = 0;
    }
  }
}
