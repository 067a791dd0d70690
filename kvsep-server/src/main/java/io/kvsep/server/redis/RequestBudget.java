package io.kvsep.server.redis;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes of commands that are being received or carried out, over all connections, and of what is
 * read for them onto the heap. Small commands pass free, as the number of connections bounds them;
 * long ones have to be reserved before an array is made for them. Thread safe.
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

  /** For a command of a few bytes that reads many; to be closed when it needs these no more. */
  Share share() {
    return new Share();
  }

  /** What one command has read. Of one thread. */
  final class Share implements AutoCloseable {
    private long taken;
    private long reserved;

    private Share() {}

    /** Throws when there is no room for so much more; it is taken in steps. */
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
