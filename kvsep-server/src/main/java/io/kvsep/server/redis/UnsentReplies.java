package io.kvsep.server.redis;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Counts bytes of replies that clients have not taken, over all connections. Thread safe. */
final class UnsentReplies {
  private final long bytesMax;
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicInteger connections = new AtomicInteger();

  UnsentReplies(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /**
   * Changes the bytes of one connection. Returns whether to close it: the total exceeds the limit,
   * and the connection has grown to at least its equal share. A single connection may have a reply
   * of any length.
   */
  boolean change(long before, long now) {
    if (now == before) {
      return false;
    }
    if (before == 0 || now == 0) {
      connections.addAndGet(now == 0 ? -1 : 1);
    }
    long all = bytes.addAndGet(now - before);
    int sharing = connections.get();
    return now > before && all > bytesMax && sharing > 1 && now >= bytesMax / sharing;
  }
}
