package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/**
 * What one node of a skip list says of the next one in a level, and what the keys of the two have
 * to do with each other, as a number.
 *
 * <pre>
 * bits  0-31  offset of the next node, 0 at the end
 *      32-39  how many bytes the keys share
 *      40-63  three bytes that the next node's key goes on with, as a number; zeros behind its end
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

  /** Three bytes of a key, as a number. */
  static int nextBytes(Region key, long offset, int length, int at) {
    return at >= length ? 0 : (int) (key.keyPrefix(offset + at, length - at) >>> 40);
  }
}
