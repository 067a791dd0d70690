package io.kvsep.internal.write;

import org.jspecify.annotations.Nullable;

/**
 * Writes that wait to be committed, the oldest first, each linked to the one behind it. To add one
 * takes no memory, so that it cannot fail half way: a writer that was told of an error is not in
 * the queue, where somebody would take it for one that waits. Guarded by its owner.
 */
final class WriteQueue {
  private @Nullable WriteRequest oldest;
  private @Nullable WriteRequest newest;

  /** Adds a write that is in no queue. */
  void add(WriteRequest request) {
    WriteRequest before = newest;
    if (before == null) {
      oldest = request;
    } else {
      before.behind = request;
    }
    newest = request;
  }

  /** The oldest, which stays; null when there is none. */
  @Nullable WriteRequest peek() {
    return oldest;
  }

  /** Takes the oldest out; null when there is none. */
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
