package io.kvsep.internal.engine;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the memory that writes on their way to the log hold together. A write that does not fit is
 * not held up: it is encoded while it is written, through a buffer that is there anyway. Thread
 * safe.
 */
final class CommitBudget {
  private final long bytesMax;
  private final long uncountedBytes;
  private final AtomicLong reserved = new AtomicLong();

  /**
   * @param uncountedBytes frames up to this length are not counted: a slot keeps that much anyway
   */
  CommitBudget(long bytesMax, long uncountedBytes) {
    this.bytesMax = bytesMax;
    this.uncountedBytes = uncountedBytes;
  }

  /** Reserves memory for a frame of this length; what it reserved, or -1 when there is no room. */
  long reserve(long frameBytes) {
    if (2 * frameBytes <= uncountedBytes) {
      return 0;
    }
    // The frame itself, and as much again while a value is compressed.
    long bytes = 2 * frameBytes;
    long now = reserved.get();
    while (bytes <= bytesMax - now) {
      if (reserved.compareAndSet(now, now + bytes)) {
        return bytes;
      }
      now = reserved.get();
    }
    return -1;
  }

  void release(long bytes) {
    if (bytes > 0) {
      reserved.addAndGet(-bytes);
    }
  }
}
