package io.kvsep.internal.memtable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A skip list (W. Pugh, 1990; insert-only, so that readers need no locks) of keys, each with its
 * versions behind it, whose nodes live in one off-heap arena and point to each other by offset. No
 * object per entry. A key that is written over and over makes the list no longer, only its own
 * chain of versions, see {@link VersionChain}.
 *
 * <p>Thread safety: one thread may insert while any number of threads read, without locks. Others
 * may insert later, when what the one wrote is visible to them.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>A node is complete before the write that links it into level 0 or into a chain, and never
 *       changes afterwards but for its tower, and its entry but for its link.
 *   <li>All versions in a chain are as new as that of the key's node or newer. A key has more than
 *       one node only where an older version came later than a newer one; then the node with the
 *       higher tag was there first, and all of its chain is newer than that of the next node.
 *   <li>Each level is sorted in internal order; level n+1 holds a subset of level n. A node may for
 *       a moment be linked in level n and not yet in n+1; searches only get slower by that.
 *   <li>A key's node is in the index, as long as that is complete, before it is in the list.
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
 * entry    bytes  field
 *       0      8  tag
 *       8      4  payloadLength; bit 31: the entry is that of a version and has no key of its own
 *      12      4  chain: of a key's node the newest version, of a version the next older one; 0 at
 *                 the end, behind which lies the key's node
 *      16      …  key, then payload
 *
 * node     bytes  field                        version  bytes  field
 *       0      4  offset of the entry                0      4  offset of the entry
 *       4      4  keyLength; bit 31: not in the      4      4  offset of the key's node
 *                 list yet                           8      4  offset of a far older version
 *       8    8*h  tower: a link per level,          12      4  how many versions were older
 *                 0 at the end
 *
 * link: bits 0-31 offset of the next node, 32-39 shared bytes, 40-63 next bytes
 * </pre>
 *
 * <p>What the outside calls a node is either kind; a position is a node and that of its key.
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
  private static final int ENTRY_HEADER_BYTES = 16;
  private static final int ENTRY_PAYLOAD_LENGTH = 8;
  private static final int ENTRY_CHAIN = 12;
  private static final int OF_VERSION = 1 << 31;

  private static final int VERSION_BYTES = 16;
  private static final int VERSION_KEY_NODE = 4;
  static final int VERSION_JUMP = 8;
  static final int VERSION_DEPTH = 12;

  private static final int NODE_HEADER_BYTES = 8;
  private static final long NODE_KEY_LENGTH = 4;
  private static final int UNLINKED = 1 << 31;
  private static final int HEAD = 8;
  private static final int FIRST_FREE = HEAD + NODE_HEADER_BYTES + 8 * HEIGHT_MAX;

  /** Bytes that two keys share are counted up to here. */
  private static final int SHARED_MAX = 255;

  /** Above any number of shared bytes. */
  private static final int LESS = 256;

  private final Region arena;
  private final VersionChain versions;
  private final KeyIndex index;
  private final long heightSeed;

  /** Where the nodes begin, in the upper half, and where the entries end. */
  private final AtomicLong bounds;

  /** Levels in use; only grows. A reader that sees an old value just walks lower levels. */
  private volatile int height = 1;

  /** The arena may hold anything: each node is written whole before it is linked. */
  SkipList(Region arena, KeyIndex index, long heightSeed) {
    this.arena = arena;
    this.index = index;
    this.versions = new VersionChain(arena);
    this.heightSeed = heightSeed;
    this.bounds = new AtomicLong((arena.length() & ~7L) << 32 | FIRST_FREE);
    arena.fill(0, FIRST_FREE, (byte) 0);
  }

  /** Bytes of the arena in use. */
  long allocatedBytes() {
    long now = bounds.getAcquire();
    return (int) now + arena.length() - (now >>> 32);
  }

  Region arena() {
    return arena;
  }

  /** Where the next entry and its node will lie; before it lie those that were inserted so far. */
  long position() {
    return bounds.getAcquire();
  }

  /**
   * Asks about the entries between two positions, in the order in which they were inserted; whether
   * the answer was yes for one. All of them have to be complete.
   */
  boolean anyBetween(long from, long to, EntryTest test) {
    long node = from >>> 32;
    int at = (int) from;
    while (at < (int) to) {
      boolean ofVersion = arena.getInt(at + (long) ENTRY_PAYLOAD_LENGTH) < 0;
      node -= ofVersion ? VERSION_BYTES : keyNodeBytes(at);
      int keyNode = ofVersion ? arena.getInt(node + VERSION_KEY_NODE) : (int) node;
      if (test.test(arena, keyOffset(keyNode), keyLength(keyNode), arena.getLong(at))) {
        return true;
      }
      at += (int) entryBytes(ofVersion ? 0 : keyLength(keyNode), payloadLength((int) node));
    }
    return false;
  }

  /** Room an insert works with: where it goes on each level. */
  static final class Splice {
    private final int[] before = new int[HEIGHT_MAX];

    /** Bytes that the new key shares with the node before. */
    private final int[] shared = new int[HEIGHT_MAX];

    /** The node on which the search ended has the key, or may have it. */
    private boolean sameKey;
  }

  /** Adds the entry; false, with nothing changed, when the arena has no room for it. */
  boolean insert(Entry entry, Splice splice) {
    Region key = Objects.requireNonNull(entry.keyRegion);
    boolean indexed = index.isComplete();
    long hash = indexed ? KeyHash.of(key, entry.keyOffset, entry.keyLength) : 0;
    int known = indexed ? index.probe(hash, this, key, entry.keyOffset, entry.keyLength) : NULL;
    if (known != NULL && tag(known) <= entry.tag) {
      return insertVersion(entry, known);
    }
    int levels = height;
    long place = search(key, entry.keyOffset, entry.keyLength, entry.tag, levels, splice);
    if (splice.sameKey && hasKey((int) place, key, entry.keyOffset, entry.keyLength)) {
      return insertVersion(entry, (int) place);
    }
    int node = write(entry, NULL);
    if (node == NULL) {
      return false;
    }
    int nodeHeight = heightFor(entry(node));
    if (nodeHeight > levels) {
      height = nodeHeight;
      Arrays.fill(splice.before, levels, nodeHeight, HEAD);
      Arrays.fill(splice.shared, levels, nodeHeight, 0);
    }
    if (known == NULL) {
      index.put(hash, node);
    }
    link(node, 0, key, entry, splice);
    arena.putIntRelease(node + NODE_KEY_LENGTH, entry.keyLength);
    for (int level = 1; level < nodeHeight; level++) {
      link(node, level, key, entry, splice);
    }
    return true;
  }

  private boolean insertVersion(Entry entry, int keyNode) {
    int version = write(entry, keyNode);
    if (version == NULL) {
      return false;
    }
    versions.add(keyNode, version);
    index.overwritten();
    return true;
  }

  /**
   * Node of the newest entry of the key with a tag of at most {@code tag}, {@link #NULL} if none.
   */
  int find(Region key, long offset, int length, long hash, long tag) {
    int known = index.find(hash, this, key, offset, length);
    if (known == NULL && index.isComplete()) {
      return NULL;
    }
    if (known != NULL && isLinked(known) && tag(known) <= tag) {
      return versions.atOrBelow(known, tag);
    }
    int keyNode = (int) search(key, offset, length, tag, height, /* splice= */ null);
    return keyNode != NULL && hasKey(keyNode, key, offset, length)
        ? versions.atOrBelow(keyNode, tag)
        : NULL;
  }

  /** First position at or after this one, {@link #NULL} past the end. */
  long findAtOrAfter(Region key, long offset, int length, long tag) {
    int keyNode = (int) search(key, offset, length, tag, height, /* splice= */ null);
    if (keyNode == NULL) {
      return NULL;
    }
    return hasKey(keyNode, key, offset, length)
        ? position(keyNode, versions.atOrBelow(keyNode, tag))
        : newest(keyNode);
  }

  /** Last position before this one, {@link #NULL} when there is none. */
  long findBefore(Region key, long offset, int length, long tag) {
    long place = search(key, offset, length, tag, height, /* splice= */ null);
    int keyNode = (int) place;
    if (keyNode != NULL && hasKey(keyNode, key, offset, length)) {
      int version = versions.above(keyNode, tag);
      if (version != NULL) {
        return position(keyNode, version);
      }
    }
    int before = (int) (place >>> 32);
    return before == HEAD ? NULL : position(before, before);
  }

  long first() {
    return newest(next(HEAD, 0));
  }

  long next(long position) {
    int keyNode = keyNode(position);
    int older = versions.older(keyNode, node(position));
    return older != NULL ? position(keyNode, older) : newest(next(keyNode, 0));
  }

  private long newest(int keyNode) {
    return keyNode == NULL ? NULL : position(keyNode, versions.newest(keyNode));
  }

  private static long position(int keyNode, int node) {
    return (long) keyNode << 32 | node;
  }

  static int keyNode(long position) {
    return (int) (position >>> 32);
  }

  static int node(long position) {
    return (int) position;
  }

  /** Whether a node is in the list, and not only in the index. */
  private boolean isLinked(int keyNode) {
    return arena.getIntVolatile(keyNode + NODE_KEY_LENGTH) >= 0;
  }

  boolean hasKey(int keyNode, Region key, long offset, int length) {
    return keyLength(keyNode) == length
        && Region.compare(arena, keyOffset(keyNode), length, key, offset, length) == 0;
  }

  long last() {
    int prev = HEAD;
    int level = height - 1;
    while (true) {
      int next = next(prev, level);
      if (next != NULL) {
        prev = next;
      } else if (level == 0) {
        return prev == HEAD ? NULL : position(prev, prev);
      } else {
        level--;
      }
    }
  }

  long tag(int node) {
    return arena.getLong(entry(node));
  }

  int keyLength(int keyNode) {
    return arena.getInt(keyNode + NODE_KEY_LENGTH) & ~UNLINKED;
  }

  long keyOffset(int keyNode) {
    return entry(keyNode) + (long) ENTRY_HEADER_BYTES;
  }

  int payloadLength(int node) {
    return arena.getInt(entry(node) + (long) ENTRY_PAYLOAD_LENGTH) & ~OF_VERSION;
  }

  long payloadOffset(int node) {
    long entry = entry(node);
    boolean ofVersion = arena.getInt(entry + ENTRY_PAYLOAD_LENGTH) < 0;
    return entry + ENTRY_HEADER_BYTES + (ofVersion ? 0 : keyLength(node));
  }

  /** Where the chain goes on behind a node. */
  static long olderOffset(Region arena, int node) {
    return arena.getInt(node) + (long) ENTRY_CHAIN;
  }

  private int entry(int node) {
    return arena.getInt(node);
  }

  /** Bytes that many entries take besides keys and payloads, each on average. */
  static int overheadOfEach() {
    // A version takes three bytes less than a key, and no key.
    return ENTRY_HEADER_BYTES + 3 + NODE_HEADER_BYTES + 8 * 4 / 3 + 1;
  }

  /** Bytes of an arena that are never available to entries. */
  static int overheadBytes() {
    return FIRST_FREE;
  }

  private static long entryBytes(int keyLength, int payloadLength) {
    return (ENTRY_HEADER_BYTES + keyLength + (long) payloadLength + 3) & ~3L;
  }

  private long keyNodeBytes(long entry) {
    return NODE_HEADER_BYTES + 8L * heightFor(entry);
  }

  /**
   * Writes a node and its entry, to be linked.
   *
   * @param keyNode of which this is another version; {@link #NULL} for a key of its own
   */
  private int write(Entry entry, int keyNode) {
    boolean ofVersion = keyNode != NULL;
    int keyLength = ofVersion ? 0 : entry.keyLength;
    int kind = Tag.kind(entry.tag);
    int expiryLength = Payload.headerLength(kind);
    int payloadLength = expiryLength + entry.valueLength;
    long entryBytes = entryBytes(keyLength, payloadLength);
    long now = bounds.getPlain();
    long at = (int) now;
    // The height comes from where the entry will lie, so that it needs no generator.
    long node = (now >>> 32) - (ofVersion ? VERSION_BYTES : keyNodeBytes(at));
    if (entryBytes > node - at) {
      return NULL;
    }
    bounds.setRelease(node << 32 | at + entryBytes);
    arena.putInt(node, (int) at);
    if (ofVersion) {
      arena.putInt(node + VERSION_KEY_NODE, keyNode);
    } else {
      arena.putInt(node + NODE_KEY_LENGTH, keyLength | UNLINKED);
    }
    arena.putLong(at, entry.tag);
    arena.putInt(at + ENTRY_PAYLOAD_LENGTH, ofVersion ? payloadLength | OF_VERSION : payloadLength);
    arena.putInt(at + ENTRY_CHAIN, NULL);
    at += ENTRY_HEADER_BYTES;
    arena.put(at, Objects.requireNonNull(entry.keyRegion), entry.keyOffset, keyLength);
    at += keyLength;
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
   * @param levels from which level downwards
   * @param splice is given where the position is on each of them
   */
  private long search(
      Region key, long offset, int length, long tag, int levels, @Nullable Splice splice) {
    int prev = HEAD;
    int shared = 0;
    int more = nextBytes(key, offset, length, 0);
    int bigger = NULL;
    boolean sameKey = false;
    int level = levels - 1;
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
        sameKey = order == SHARED_MAX;
      }
      if (splice != null) {
        splice.before[level] = prev;
        splice.shared[level] = shared;
      }
      if (level == 0) {
        if (splice != null) {
          splice.sameKey = sameKey && next != NULL;
        }
        return (long) prev << 32 | next;
      }
      level--;
    }
  }

  /** Links a node into one level, at the place where it is to go. */
  private void link(int node, int level, Region key, Entry entry, Splice splice) {
    int prev = splice.before[level];
    int shared = splice.shared[level];
    long link = link(prev, level);
    int next = nextOf(link);
    int more = nextBytes(key, entry.keyOffset, entry.keyLength, shared);
    int order =
        next == NULL
            ? 0
            : order(link, shared, more, key, entry.keyOffset, entry.keyLength, entry.tag);
    // Sharing as much with the next node as the one before did, the new one gets the same link.
    boolean same = next == NULL || order == sharedOf(link);
    arena.putLong(tower(node, level), same ? link : linkTo(next, order));
    arena.putLongRelease(tower(prev, level), linkOf(node, shared, more));
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
