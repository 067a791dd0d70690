package io.kvsep.internal.memtable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.Region;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The entries of a memtable and their nodes, as they lie in its arena in the order in which they
 * were inserted. Nodes point to each other by offset; no object per entry.
 *
 * <p>Thread safe: one thread may {@link #write} while any number of threads read what they were
 * shown. A node is complete before anybody is shown it, and never changes afterwards but for its
 * tower and its length's upper bit, and its entry but for its link.
 *
 * <p>Offset 0 is null: no node lies there. Entries fill the arena from its beginning, 4-byte
 * aligned, and nodes from its end, 8-byte aligned, so that the nodes lie close to each other.
 * Little-endian:
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
 * </pre>
 *
 * <p>What the outside calls a node is either kind.
 */
final class Nodes {
  static final int NULL = 0;
  static final int HEIGHT_MAX = 14;

  /** Where every level of the list begins; has no entry. */
  static final int HEAD = 8;

  private static final int ENTRY_HEADER_BYTES = 16;
  private static final int ENTRY_PAYLOAD_LENGTH = 8;
  private static final int ENTRY_CHAIN = 12;
  private static final int OF_VERSION = 1 << 31;

  /** Header and key of most entries. */
  private static final int TOUCHED_BYTES = 65;

  private static final int VERSION_BYTES = 16;
  private static final int VERSION_KEY_NODE = 4;
  static final int VERSION_JUMP = 8;
  static final int VERSION_DEPTH = 12;

  private static final int NODE_HEADER_BYTES = 8;
  private static final long NODE_KEY_LENGTH = 4;
  private static final int UNLINKED = 1 << 31;
  private static final int FIRST_FREE = HEAD + NODE_HEADER_BYTES + 8 * HEIGHT_MAX;

  private final Region arena;
  private final long heightSeed;

  /** Where the nodes begin, in the upper half, and where the entries end. */
  private final AtomicLong bounds;

  /** The arena may hold anything: each node is written whole before it is shown. */
  Nodes(Region arena, long heightSeed) {
    this.arena = arena;
    this.heightSeed = heightSeed;
    this.bounds = new AtomicLong((arena.length() & ~7L) << 32 | FIRST_FREE);
    arena.fill(0, FIRST_FREE, (byte) 0);
  }

  Region arena() {
    return arena;
  }

  /** Bytes of the arena in use. */
  long allocatedBytes() {
    long now = bounds.getAcquire();
    return (int) now + arena.length() - (now >>> 32);
  }

  /** Where the next entry and its node will lie; before it lie those that were written so far. */
  long position() {
    return bounds.getAcquire();
  }

  /** Whether a node was written before that position was the present one. */
  static boolean isBefore(int node, long position) {
    return node >= (int) (position >>> 32);
  }

  /** Whether what lies before a position is part of what lies before another. */
  static boolean isWithin(long position, long other) {
    return (int) position <= (int) other;
  }

  /** Bytes of the entries between two positions; none where the second is in front of the first. */
  static long bytesBetween(long from, long to) {
    return Math.max(0, (int) to - (int) from);
  }

  /** Walks entries in the order in which they were written. Not thread safe. */
  final class Walk {
    private long node;
    private int at;
    private final int end;
    private boolean ofVersion;

    /** All of these have to be complete. */
    Walk(long from, long to) {
      node = from >>> 32;
      at = (int) from;
      end = (int) to;
    }

    /** Goes to the next entry; the first one at first. */
    boolean next() {
      if (at >= end) {
        return false;
      }
      ofVersion = arena.getInt(at + (long) ENTRY_PAYLOAD_LENGTH) < 0;
      node -= ofVersion ? VERSION_BYTES : keyNodeBytes(at);
      int keyLength = ofVersion ? 0 : keyLength((int) node);
      at += (int) entryBytes(keyLength, payloadLength((int) node));
      return true;
    }

    int node() {
      return (int) node;
    }

    /** Whether it is a version of a key whose node came before. */
    boolean isOfVersion() {
      return ofVersion;
    }

    int keyNode() {
      return ofVersion ? arena.getInt(node + VERSION_KEY_NODE) : (int) node;
    }

    /** Where the walk is now: before it lie those that it has met. */
    long position() {
      return node << 32 | at;
    }
  }

  /** Has a node on its way from memory before it is needed. */
  void touchNode(int node) {
    arena.touch(node, Integer.BYTES);
  }

  /** The same for its entry, once the node is there. */
  void touchEntry(int node) {
    long entry = entry(node);
    arena.touch(entry, (int) Math.min(TOUCHED_BYTES, arena.length() - entry));
  }

  boolean hasKey(int keyNode, Region key, long offset, int length) {
    return keyLength(keyNode) == length
        && Region.compare(arena, keyOffset(keyNode), length, key, offset, length) == 0;
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

  /** Whether a node is in the list, and not only in the index. */
  boolean isLinked(int keyNode) {
    return arena.getIntVolatile(keyNode + NODE_KEY_LENGTH) >= 0;
  }

  void setLinked(int keyNode, int keyLength) {
    arena.putIntRelease(keyNode + NODE_KEY_LENGTH, keyLength);
  }

  int height(int keyNode) {
    return heightFor(entry(keyNode));
  }

  static long tower(int keyNode, int level) {
    return keyNode + NODE_HEADER_BYTES + 8L * level;
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
   * Writes a node and its entry, to be shown.
   *
   * @param keyNode of which this is another version; {@link #NULL} for a key of its own
   */
  int write(Entry entry, int keyNode) {
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

  /** Geometric with one level more in a quarter of the cases. */
  private int heightFor(long offset) {
    long bits = (offset ^ heightSeed) * 0x9e3779b97f4a7c15L;
    bits = (bits ^ bits >>> 32) * 0xbf58476d1ce4e5b9L;
    bits ^= bits >>> 29;
    return Math.min(HEIGHT_MAX, 1 + Long.numberOfTrailingZeros(bits | 1L << 62) / 2);
  }
}
