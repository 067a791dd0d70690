package io.kvsep.internal.memtable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.Region;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

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
 *   <li>A link says of the two nodes it connects how many bytes their keys share, and what the next
 *       node's key goes on with.
 * </ol>
 *
 * Entries fill the arena from its beginning, 4-byte aligned, and nodes from its end, 8-byte
 * aligned, so that the nodes lie close to each other. Little-endian:
 *
 * <pre>
 * entry   bytes  field                     node   bytes  field
 *      0      8  tag                          0       4  offset of the entry
 *      8      4  payloadLength                4       4  keyLength
 *     12      …  key, then payload            8     8*h  tower: a link per level, 0 at the end
 *
 * link: bits 0-31 offset of the next node, 32-39 shared bytes, 40-63 next bytes
 * </pre>
 *
 * <p>The links are what makes a search cheap: it knows how many bytes the key that it looks for
 * shares with the node it stands on, which is smaller. If that node shares more with the next one,
 * the next one is smaller too; if less, bigger; if as much, the next bytes decide but for rare
 * cases. So a search walks over nodes, which take a small part of the memory, and hardly looks at
 * entries. (The idea is that of string sorting with longest common prefixes.)
 *
 * <p>For this, keys count as if zeros without end followed; two keys of which one is the other with
 * zeros behind it are told apart by comparing them. Shared bytes from {@link #SHARED_MAX} on are
 * not counted.
 */
final class SkipList {
  static final int NULL = 0;
  private static final int HEIGHT_MAX = 14;
  private static final int ENTRY_HEADER_BYTES = 12;
  private static final int NODE_HEADER_BYTES = 8;
  private static final int HEAD = 8;
  private static final int FIRST_FREE = HEAD + NODE_HEADER_BYTES + 8 * HEIGHT_MAX;

  /** Bytes that two keys share are counted up to here. */
  private static final int SHARED_MAX = 255;

  /** Above any number of shared bytes. */
  private static final int LESS = 256;

  private final Region arena;
  private final long heightSeed;

  /** Where the nodes begin, in the upper half, and where the entries end. */
  private final AtomicLong bounds;

  /** Levels in use; only grows. A reader that sees an old value just walks lower levels. */
  private final AtomicInteger height = new AtomicInteger(1);

  /** The arena may hold anything: each node is written whole before it is linked. */
  SkipList(Region arena, long heightSeed) {
    this.arena = arena;
    this.heightSeed = heightSeed;
    this.bounds = new AtomicLong((arena.length() & ~7L) << 32 | FIRST_FREE);
    arena.fill(0, FIRST_FREE, (byte) 0);
  }

  /** Bytes of the arena in use. */
  long allocatedBytes() {
    long now = bounds.get();
    return (int) now + arena.length() - (now >>> 32);
  }

  Region arena() {
    return arena;
  }

  /** Where the next entry and its node will lie; before it lie those that were inserted so far. */
  long position() {
    return bounds.get();
  }

  /**
   * Asks about the entries between two positions, in the order in which they were inserted; whether
   * the answer was yes for one. All of them have to be complete.
   */
  boolean anyBetween(long from, long to, EntryTest test) {
    long node = from >>> 32;
    int at = (int) from;
    while (at < (int) to) {
      node -= NODE_HEADER_BYTES + 8L * heightFor(at);
      int keyLength = arena.getInt(node + 4);
      if (test.test(arena, at + (long) ENTRY_HEADER_BYTES, keyLength, arena.getLong(at))) {
        return true;
      }
      at += (int) entryBytes(keyLength, arena.getInt(at + 8L));
    }
    return false;
  }

  /** Room an insert works with: where it goes on each level. */
  static final class Splice {
    private final int[] before = new int[HEIGHT_MAX];

    /** Bytes that the new key shares with the node before. */
    private final int[] shared = new int[HEIGHT_MAX];
  }

  /** Adds the entry; false, with nothing changed, when the arena has no room for it. */
  boolean insert(Entry entry, Splice splice) {
    int node = write(entry);
    if (node == NULL) {
      return false;
    }
    int nodeHeight = heightFor(entry(node));
    if (nodeHeight > height.get()) {
      height.accumulateAndGet(nodeHeight, Math::max);
    }
    Region key = Objects.requireNonNull(entry.keyRegion);
    // The new node is no taller than the list by now, so each of its levels is filled in.
    search(key, entry.keyOffset, entry.keyLength, entry.tag, splice);
    for (int level = 0; level < nodeHeight; level++) {
      link(node, level, key, entry, splice);
    }
    return true;
  }

  /** First node at or after the position, {@link #NULL} past the end. */
  int findAtOrAfter(Region key, long offset, int length, long tag) {
    return (int) search(key, offset, length, tag, /* splice= */ null);
  }

  /** Last node before the position, {@link #NULL} when there is none. */
  int findBefore(Region key, long offset, int length, long tag) {
    int node = (int) (search(key, offset, length, tag, /* splice= */ null) >>> 32);
    return node == HEAD ? NULL : node;
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
    return arena.getLong(entry(node));
  }

  int keyLength(int node) {
    return arena.getInt(node + 4L);
  }

  long keyOffset(int node) {
    return entry(node) + (long) ENTRY_HEADER_BYTES;
  }

  int payloadLength(int node) {
    return arena.getInt(entry(node) + 8L);
  }

  long payloadOffset(int node) {
    return keyOffset(node) + keyLength(node);
  }

  private int entry(int node) {
    return arena.getInt(node);
  }

  /** Bytes that many entries take besides keys and payloads, each on average. */
  static int overheadOfEach() {
    return ENTRY_HEADER_BYTES + 3 + NODE_HEADER_BYTES + 8 * 4 / 3 + 1;
  }

  /** Bytes of an arena that are never available to entries. */
  static int overheadBytes() {
    return FIRST_FREE;
  }

  private static long entryBytes(int keyLength, int payloadLength) {
    return (ENTRY_HEADER_BYTES + keyLength + (long) payloadLength + 3) & ~3L;
  }

  private int write(Entry entry) {
    int kind = Tag.kind(entry.tag);
    int expiryLength = Payload.headerLength(kind);
    int payloadLength = expiryLength + entry.valueLength;
    long entryBytes = entryBytes(entry.keyLength, payloadLength);
    long now;
    long at;
    long node;
    do {
      now = bounds.get();
      at = (int) now;
      // The height comes from where the entry will lie, so that it needs no shared generator.
      node = (now >>> 32) - NODE_HEADER_BYTES - 8L * heightFor(at);
      if (entryBytes > node - at) {
        return NULL;
      }
    } while (!bounds.compareAndSet(now, node << 32 | at + entryBytes));
    arena.putInt(node, (int) at);
    arena.putInt(node + 4, entry.keyLength);
    arena.putLong(at, entry.tag);
    arena.putInt(at + 8, payloadLength);
    at += ENTRY_HEADER_BYTES;
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

  /**
   * Last node before the position, or the head, in the upper half, and in the lower one the node
   * that came behind it when that was found.
   *
   * @param splice is given where the position is on each level, from the list's height downwards
   */
  private long search(Region key, long offset, int length, long tag, @Nullable Splice splice) {
    int prev = HEAD;
    int shared = 0;
    int more = nextBytes(key, offset, length, 0);
    int bigger = NULL;
    int level = height.get() - 1;
    while (true) {
      long link = link(prev, level);
      int next = nextOf(link);
      // A node already found to be bigger on the level above need not be compared again.
      if (next != NULL && next != bigger) {
        int order = order(link, shared, more, key, offset, length, tag);
        if (order >= LESS) {
          prev = next;
          if (order - LESS != shared) {
            shared = order - LESS;
            more = nextBytes(key, offset, length, shared);
          }
          continue;
        }
        bigger = next;
      }
      if (splice != null) {
        splice.before[level] = prev;
        splice.shared[level] = shared;
      }
      if (level == 0) {
        return (long) prev << 32 | next;
      }
      level--;
    }
  }

  /** Links a node into one level, at or behind the place where it was to go. */
  private void link(int node, int level, Region key, Entry entry, Splice splice) {
    int prev = splice.before[level];
    int shared = splice.shared[level];
    while (true) {
      long link = link(prev, level);
      int next = nextOf(link);
      int more = nextBytes(key, entry.keyOffset, entry.keyLength, shared);
      int order = 0;
      if (next != NULL) {
        order = order(link, shared, more, key, entry.keyOffset, entry.keyLength, entry.tag);
        if (order >= LESS) {
          // Somebody linked a node here meanwhile: the place moves on, never back.
          prev = next;
          shared = order - LESS;
          continue;
        }
      }
      // Sharing as much with the next node as the one before did, the new one gets the same link.
      boolean same = next == NULL || order == sharedOf(link);
      arena.putLong(tower(node, level), same ? link : linkTo(next, order));
      if (arena.compareAndSetLong(tower(prev, level), link, linkOf(node, shared, more))) {
        return;
      }
    }
  }

  /**
   * Compares what a link leads to with a key.
   *
   * @param shared bytes that the key shares with the node that the link belongs to
   * @param more the key's next bytes
   * @return the bytes that the two share, and {@link #LESS} more if the node comes before the key
   */
  private int order(
      long link, int shared, int more, Region key, long offset, int length, long tag) {
    int linkShared = sharedOf(link);
    if (linkShared > shared) {
      return LESS + shared;
    }
    if (linkShared < shared) {
      return linkShared;
    }
    int linkMore = (int) (link >>> 40);
    if (linkMore != more && shared < SHARED_MAX) {
      int same = (Integer.numberOfLeadingZeros(linkMore ^ more) - 8) >>> 3;
      return (linkMore < more ? LESS : 0) + Math.min(SHARED_MAX, shared + same);
    }
    return compare(nextOf(link), key, offset, length, tag);
  }

  /** As {@link #order}, by looking at the whole of both. */
  private int compare(int node, Region key, long offset, int length, long tag) {
    int nodeLength = keyLength(node);
    long nodeOffset = keyOffset(node);
    int shared = Region.commonPrefix(arena, nodeOffset, nodeLength, key, offset, length);
    int common = Math.min(nodeLength, length);
    boolean less;
    if (shared < common) {
      less = (arena.getByte(nodeOffset + shared) & 0xff) < (key.getByte(offset + shared) & 0xff);
    } else if (nodeLength == length) {
      // The newer one first.
      return (tag < tag(node) ? LESS : 0) + SHARED_MAX;
    } else {
      less = nodeLength < length;
      int zeros =
          less
              ? zerosAt(key, offset + common, length - common)
              : zerosAt(arena, nodeOffset + common, nodeLength - common);
      shared = common + zeros == Math.max(nodeLength, length) ? SHARED_MAX : common + zeros;
    }
    return (less ? LESS : 0) + Math.min(SHARED_MAX, shared);
  }

  private static int zerosAt(Region region, long offset, int length) {
    int zeros = 0;
    while (zeros < length && region.getByte(offset + zeros) == 0) {
      zeros++;
    }
    return zeros;
  }

  private long linkTo(int node, int shared) {
    return linkOf(node, shared, nextBytes(arena, keyOffset(node), keyLength(node), shared));
  }

  private static long linkOf(int node, int shared, int more) {
    return (long) more << 40 | (long) shared << 32 | (node & 0xffffffffL);
  }

  private static int sharedOf(long link) {
    return (int) (link >>> 32) & 0xff;
  }

  private static int nextOf(long link) {
    return (int) link;
  }

  /** Three bytes of a key, as a number. */
  private static int nextBytes(Region key, long offset, int length, int at) {
    return at >= length ? 0 : (int) (key.keyPrefix(offset + at, length - at) >>> 40);
  }

  private long link(int node, int level) {
    return arena.getLongVolatile(tower(node, level));
  }

  private int next(int node, int level) {
    return nextOf(link(node, level));
  }

  private static long tower(int node, int level) {
    return node + NODE_HEADER_BYTES + 8L * level;
  }

  /** Geometric with one level more in a quarter of the cases. */
  private int heightFor(long offset) {
    long bits = (offset ^ heightSeed) * 0x9e3779b97f4a7c15L;
    bits = (bits ^ bits >>> 32) * 0xbf58476d1ce4e5b9L;
    bits ^= bits >>> 29;
    return Math.min(HEIGHT_MAX, 1 + Long.numberOfTrailingZeros(bits | 1L << 62) / 2);
  }
}
