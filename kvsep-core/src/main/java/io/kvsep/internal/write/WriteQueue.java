package io.kvsep.internal.write;

import org.jspecify.annotations.Nullable;

/**
 * FIFO of writes to be committed, linked through the requests. Adding never allocates, so a writer
 * that got an error is not in the queue. Guarded by its owner.
 */
final class WriteQueue {
  private @Nullable WriteRequest oldest;
  private @Nullable WriteRequest newest;

  void add(WriteRequest request) {
    WriteRequest before = newest;
    if (before == null) {
      oldest = request;
    } else {
      before.behind = request;
    }
    newest = request;
  }

  /** Null if empty. */
  @Nullable WriteRequest peek() {
    return oldest;
  }

  /** Removes the oldest; null if empty. */
  @Nullable WriteRequest poll() {
    WriteRequest first = oldest;
    if (first != null) {
      oldest = first.behind;
      first.behind = null;
      if (oldest == null) {
        newest = null;
      }
    }
    return first;
  }
}
