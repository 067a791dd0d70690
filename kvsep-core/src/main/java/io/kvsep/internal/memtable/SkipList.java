package io.kvsep.internal.memtable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.Region;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A concurrent skip list (W. Pugh, 1990; insert-only, so that one compare-and-set a level suffices)
 * whose nodes live in one off-heap arena and point to each other by offset. No object per entry.
 *
 * <p>Thread safety: any number of threads may insert and read at once, without locks.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>A node is complete before the compare-and-set that links it into level 0, and never changes
 *       afterwards but for its tower.
 *   <li>Each level is sorted in internal order; level n+1 holds a subset of level n. A node may for
 *       a moment be linked in level n and not yet in n+1; searches only get slower by that.
 *   <li>Nothing is ever unlinked; memory is given back with the whole arena.
 *   <li>Offset 0 is null: no node lies there.
 * </ol>
 *
 * Node, 8-byte aligned, little-endian:
 *
 * <pre>
 * offset  bytes  field
 *      0      8  tag
 *      8      4  keyLength << 8 | height
 *     12      4  payloadLength
 *     16    4*h  tower: offset of the next node per level, 0 at the end
 *   16+4h     …  key, then payload
 * </pre>
 */
final class SkipList {
  static final int NULL = 0;
  private static final int HEIGHT_MAX = 14;
  private static final int HEADER_BYTES = 16;
  private static final int HEAD = 8;
  private static final int FIRST_FREE = HEAD + HEADER_BYTES + 4 * HEIGHT_MAX;

  private final Region arena;
  private final long heightSeed;
  private final AtomicLong allocated = new AtomicLong(FIRST_FREE);

  /** Levels in use; only grows. A reader that sees an old value just walks lower levels. */
  private final AtomicInteger height = new AtomicInteger(1);

  /** The arena may hold anything: each node is written whole before it is linked. */
  SkipList(Region arena, long heightSeed) {
    this.arena = arena;
    this.heightSeed = heightSeed;
    arena.putInt(HEAD + 8, HEIGHT_MAX);
    for (int level = 0; level < HEIGHT_MAX; level++) {
      arena.putInt(tower(HEAD, level), NULL);
    }
  }

  /** Bytes of the arena in use. */
  long allocatedBytes() {
    return Math.min(allocated.get(), arena.length());
  }

  Region arena() {
    return arena;
  }

  /** Adds the entry; false, with nothing changed, when the arena has no room for it. */
  boolean insert(Entry entry, int[] before, int[] after) {
    int node = write(entry);
    if (node == NULL) {
      return false;
    }
    int nodeHeight = arena.getInt(node + 8L) & 0xff;
    if (nodeHeight > height.get()) {
      height.accumulateAndGet(nodeHeight, Math::max);
    }
    Region key = Objects.requireNonNull(entry.keyRegion);
    findSplice(key, entry.keyOffset, entry.keyLength, entry.tag, before, after);
    for (int level = 0; level < nodeHeight; level++) {
      while (true) {
        arena.putInt(tower(node, level), after[level]);
        if (arena.compareAndSetInt(tower(before[level], level), after[level], node)) {
          break;
        }
        // Somebody linked a node here meanwhile: the splice of this level moves on, never back.
        int prev = before[level];
        int next = next(prev, level);
        while (next != NULL
            && compare(next, key, entry.keyOffset, entry.keyLength, entry.tag) < 0) {
          prev = next;
          next = next(prev, level);
        }
        before[level] = prev;
        after[level] = next;
      }
    }
    return true;
  }

  /** First node at or after the position, {@link #NULL} past the end. */
  int findAtOrAfter(Region key, long offset, int length, long tag) {
    int prev = HEAD;
    int bigger = NULL;
    int level = height.get() - 1;
    while (true) {
      int next = next(prev, level);
      // A node already found to be bigger on the level above need not be compared again.
      if (next != NULL && next != bigger && compare(next, key, offset, length, tag) < 0) {
        prev = next;
      } else if (level == 0) {
        return next;
      } else {
        bigger = next;
        level--;
      }
    }
  }

  /** Last node before the position, {@link #NULL} when there is none. */
  int findBefore(Region key, long offset, int length, long tag) {
    int prev = HEAD;
    int bigger = NULL;
    int level = height.get() - 1;
    while (true) {
      int next = next(prev, level);
      if (next != NULL && next != bigger && compare(next, key, offset, length, tag) < 0) {
        prev = next;
      } else if (level == 0) {
        return prev == HEAD ? NULL : prev;
      } else {
        bigger = next;
        level--;
      }
    }
  }

  int first() {
    return next(HEAD, 0);
  }

  int last() {
    int prev = HEAD;
    int level = height.get() - 1;
    while (true) {
      int next = next(prev, level);
      if (next != NULL) {
        prev = next;
      } else if (level == 0) {
        return prev == HEAD ? NULL : prev;
      } else {
        level--;
      }
    }
  }

  int next(int node) {
    return next(node, 0);
  }

  long tag(int node) {
    return arena.getLong(node);
  }

  int keyLength(int node) {
    return arena.getInt(node + 8L) >>> 8;
  }

  long keyOffset(int node) {
    return node + HEADER_BYTES + 4L * (arena.getInt(node + 8L) & 0xff);
  }

  int payloadLength(int node) {
    return arena.getInt(node + 12L);
  }

  long payloadOffset(int node) {
    return keyOffset(node) + keyLength(node);
  }

  /** Most arena bytes an entry can take. */
  static long bytesFor(int keyLength, int payloadLength) {
    return HEADER_BYTES + 4L * HEIGHT_MAX + keyLength + payloadLength + 8;
  }

  /** Bytes of an arena that are never available to entries. */
  static int overheadBytes() {
    return FIRST_FREE;
  }

  private int write(Entry entry) {
    int kind = Tag.kind(entry.tag);
    int expiryLength = Payload.headerLength(kind);
    int payloadLength = expiryLength + entry.valueLength;
    // The height comes from the node's own future offset, so that it needs no shared generator.
    long reserved = HEADER_BYTES + entry.keyLength + (long) payloadLength;
    int nodeHeight = heightFor(allocated.get());
    long bytes = reserved + 4L * nodeHeight + 7 & ~7L;
    long node = allocated.get();
    do {
      node = allocated.get();
      if (bytes > arena.length() - node) {
        return NULL;
      }
    } while (!allocated.compareAndSet(node, node + bytes));
    arena.putLong(node, entry.tag);
    arena.putInt(node + 8, entry.keyLength << 8 | nodeHeight);
    arena.putInt(node + 12, payloadLength);
    long at = node + HEADER_BYTES + 4L * nodeHeight;
    arena.put(at, Objects.requireNonNull(entry.keyRegion), entry.keyOffset, entry.keyLength);
    at += entry.keyLength;
    if (expiryLength > 0) {
      arena.putLong(at, entry.expiresAtMillis);
      at += expiryLength;
    }
    if (entry.valueLength > 0) {
      arena.put(
          at, Objects.requireNonNull(entry.valueRegion), entry.valueOffset, entry.valueLength);
    }
    return (int) node;
  }

  private void findSplice(
      Region key, long offset, int length, long tag, int[] before, int[] after) {
    int prev = HEAD;
    int bigger = NULL;
    // The new node is no taller than the list: its height was raised before.
    for (int level = height.get() - 1; level >= 0; level--) {
      int next = next(prev, level);
      while (next != NULL && next != bigger && compare(next, key, offset, length, tag) < 0) {
        prev = next;
        next = next(prev, level);
      }
      before[level] = prev;
      after[level] = next;
      bigger = next;
    }
  }

  private int compare(int node, Region key, long offset, int length, long tag) {
    int lengthAndHeight = arena.getInt(node + 8L);
    long keyOffset = node + HEADER_BYTES + 4L * (lengthAndHeight & 0xff);
    int order = Region.compare(arena, keyOffset, lengthAndHeight >>> 8, key, offset, length);
    return order != 0 ? order : Long.compare(tag, arena.getLong(node));
  }

  private int next(int node, int level) {
    return arena.getIntVolatile(tower(node, level));
  }

  private static long tower(int node, int level) {
    return node + HEADER_BYTES + 4L * level;
  }

  /** Geometric with one level more in a quarter of the cases. */
  private int heightFor(long offset) {
    long bits = (offset ^ heightSeed) * 0x9e3779b97f4a7c15L;
    bits = (bits ^ bits >>> 32) * 0xbf58476d1ce4e5b9L;
    bits ^= bits >>> 29;
    return Math.min(HEIGHT_MAX, 1 + Long.numberOfTrailingZeros(bits | 1L << 62) / 2);
  }

  static int heightMax() {
    return HEIGHT_MAX;
  }
}
