package io.kvsep.server.redis;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Bytes of replies that clients have not taken, of all connections. Thread safe. */
final class UnsentReplies {
  private final long bytesMax;
  private final AtomicLong bytes = new AtomicLong();
  private final AtomicInteger connections = new AtomicInteger();

  UnsentReplies(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /**
   * One connection has so many bytes where it had others before. Whether it is to be closed: all
   * have more than they may, and with these it has no less than its share. One that is alone may
   * have a reply of any length.
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
