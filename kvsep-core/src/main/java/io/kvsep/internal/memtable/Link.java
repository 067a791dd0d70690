package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/**
 * A link of a skip list level, packed into a long:
 *
 * <pre>
 * bits  0-31  offset of the next node, 0 at the end
 *      32-39  number of leading bytes that its key shares with the key before the link
 *      40-63  the next three bytes of its key, zero-padded
 * </pre>
 */
final class Link {
  private Link() {}

  static long of(int node, int shared, int more) {
    return (long) more << 40 | (long) shared << 32 | (node & 0xffffffffL);
  }

  static int next(long link) {
    return (int) link;
  }

  static int shared(long link) {
    return (int) (link >>> 32) & 0xff;
  }

  static int more(long link) {
    return (int) (link >>> 40);
  }

  /** Three bytes of a key from {@code at} on, zero-padded. */
  static int nextBytes(Region key, long offset, int length, int at) {
    return at >= length ? 0 : (int) (key.keyPrefix(offset + at, length - at) >>> 40);
  }
}
