package io.kvsep.internal.memtable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.memory.Region;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The entries of a memtable and their nodes, in insertion order in its arena. Links are offsets.
 *
 * <p>Thread safe: one thread may {@link #write} while any number read published nodes. A node is
 * complete before it is published; later only its tower, the upper bit of its length and the chain
 * link of its entry change.
 *
 * <p>Offset 0 is null. Entries grow from the start of the arena, 4-byte aligned; nodes grow from
 * its end, 8-byte aligned, so they are close to each other. Little-endian:
 *
 * <pre>
 * entry    bytes  field
 *       0      8  tag
 *       8      4  payloadLength; bit 31: entry of a version, without a key
 *      12      4  chain: for a key node the newest version, for a version the next older one; 0 at
 *                 the end, where the key node follows
 *      16      …  key, then payload
 *
 * node     bytes  field                        version  bytes  field
 *       0      4  offset of the entry                0      4  offset of the entry
 *       4      4  keyLength; bit 31: not in the      4      4  offset of the key node
 *                 list yet                           8      4  offset of a far older version
 *       8    8*h  tower: a link per level,          12      4  number of older versions
 *                 0 at the end
 * </pre>
 *
 * <p>Elsewhere, "node" means a key node or a version.
 */
final class Nodes {
  static final int NULL = 0;
  static final int HEIGHT_MAX = 14;

  /** Head of every level; has no entry. */
  static final int HEAD = 8;

  private static final int ENTRY_HEADER_BYTES = 16;
  private static final int ENTRY_PAYLOAD_LENGTH = 8;
  private static final int ENTRY_CHAIN = 12;
  private static final int OF_VERSION = 1 << 31;

  /** Covers header and key of most entries. */
  private static final int TOUCHED_BYTES = 65;

  private static final int PAYLOAD_TOUCHED_BYTES_MAX = 256;

  private static final int VERSION_BYTES = 16;
  private static final int VERSION_KEY_NODE = 4;
  static final int VERSION_JUMP = 8;
  static final int VERSION_DEPTH = 12;

  private static final int NODE_HEADER_BYTES = 8;
  private static final long NODE_KEY_LENGTH = 4;
  private static final int UNLINKED = 1 << 31;

  /** Arena bytes before the first entry. */
  static final int FIRST_FREE = HEAD + NODE_HEADER_BYTES + 8 * HEIGHT_MAX;

  /** Average of an entry without key and payload. A version takes three bytes less, and no key. */
  static final int OVERHEAD_BYTES = ENTRY_HEADER_BYTES + 3 + NODE_HEADER_BYTES + 8 * 4 / 3 + 1;

  private final Region arena;
  private final long heightSeed;

  /** Start of the nodes in the upper half, end of the entries in the lower half. */
  private final AtomicLong bounds;

  /** The arena may be uncleared. */
  Nodes(Region arena, long heightSeed) {
    this.arena = arena;
    this.heightSeed = heightSeed;
    this.bounds = new AtomicLong((arena.length() & ~7L) << 32 | FIRST_FREE);
    arena.fill(0, FIRST_FREE, (byte) 0);
  }

  Region arena() {
    return arena;
  }

  long allocatedBytes() {
    long now = bounds.getAcquire();
    return (int) now + arena.length() - (now >>> 32);
  }

  long freeBytes() {
    long now = bounds.getAcquire();
    return (now >>> 32) - (int) now;
  }

  /** Where the next entry and its node go. */
  long position() {
    return bounds.getAcquire();
  }

  /** Whether a node was written before {@link #position} was {@code position}. */
  static boolean isBefore(int node, long position) {
    return node >= (int) (position >>> 32);
  }

  static boolean isWithin(long position, long other) {
    return (int) position <= (int) other;
  }

  /** Bytes of the entries between two positions; 0 if {@code to} is first. */
  static long bytesBetween(long from, long to) {
    return Math.max(0, (int) to - (int) from);
  }

  /** Walks entries in write order. Not thread safe. */
  final class Walk {
    private long node;
    private int at;
    private final int end;
    private boolean ofVersion;

    /** All entries between the positions must be complete. */
    Walk(long from, long to) {
      node = from >>> 32;
      at = (int) from;
      end = (int) to;
    }

    boolean next() {
      if (at >= end) {
        return false;
      }
      int lengthWord = arena.getInt(at + (long) ENTRY_PAYLOAD_LENGTH);
      ofVersion = lengthWord < 0;
      node -= ofVersion ? VERSION_BYTES : keyNodeBytes(at);
      int keyLength = ofVersion ? 0 : keyLength((int) node);
      at += (int) entryBytes(keyLength, lengthWord & ~OF_VERSION);
      return true;
    }

    int node() {
      return (int) node;
    }

    boolean isOfVersion() {
      return ofVersion;
    }

    int keyNode() {
      return ofVersion ? arena.getInt(node + VERSION_KEY_NODE) : (int) node;
    }

    long position() {
      return node << 32 | at;
    }
  }

  /** Whether the node is of a later version of a key, not a key node. */
  boolean isOfVersion(int node) {
    return arena.getInt(entry(node) + (long) ENTRY_PAYLOAD_LENGTH) < 0;
  }

  void touchNode(int node) {
    arena.touch(node, Integer.BYTES);
  }

  /** Reads the node, so prefetch that first. */
  void touchEntry(int node) {
    long entry = entry(node);
    arena.touch(entry, (int) Math.min(TOUCHED_BYTES, arena.length() - entry));
  }

  /** Reads the entry, so touch that first. */
  void touchPayload(int keyNode) {
    long entry = entry(keyNode);
    int payload = ENTRY_HEADER_BYTES + keyLength(keyNode);
    int length = arena.getInt(entry + ENTRY_PAYLOAD_LENGTH) & ~OF_VERSION;
    int end = payload + Math.min(length, PAYLOAD_TOUCHED_BYTES_MAX);
    if (end > TOUCHED_BYTES) {
      int from = Math.max(payload, TOUCHED_BYTES);
      arena.touch(entry + from, end - from);
    }
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

  /** Sets tag and payload of {@code at}. */
  void read(int node, Position at) {
    long entry = entry(node);
    int lengthWord = arena.getInt(entry + ENTRY_PAYLOAD_LENGTH);
    boolean ofVersion = lengthWord < 0;
    int keyLength = ofVersion ? 0 : arena.getInt(node + NODE_KEY_LENGTH) & ~UNLINKED;
    at.tag = arena.getLong(entry);
    at.payloadRegion = arena;
    at.payloadOffset = entry + ENTRY_HEADER_BYTES + keyLength;
    at.payloadLength = lengthWord & ~OF_VERSION;
  }

  /** Offset of the link to the next older version. */
  static long olderOffset(Region arena, int node) {
    return arena.getInt(node) + (long) ENTRY_CHAIN;
  }

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

  private static long entryBytes(int keyLength, int payloadLength) {
    return (ENTRY_HEADER_BYTES + keyLength + (long) payloadLength + 3) & ~3L;
  }

  private long keyNodeBytes(long entry) {
    return NODE_HEADER_BYTES + 8L * heightFor(entry);
  }

  /**
   * Writes a node and its entry without publishing them; {@link #NULL} if the arena is full.
   *
   * @param keyNode key node of a version; {@link #NULL} for a new key
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
    // The entry's offset decides the height.
    long node = (now >>> 32) - (ofVersion ? VERSION_BYTES : keyNodeBytes(at));
    if (entryBytes > node - at) {
      return NULL;
    }
    bounds.setRelease(node << 32 | at + entryBytes);
    // With the next field, which is the key node or the key length.
    arena.putLong(node, at | (long) (ofVersion ? keyNode : keyLength | UNLINKED) << 32);
    arena.putLong(at, entry.tag);
    // With an empty chain.
    int lengthWord = ofVersion ? payloadLength | OF_VERSION : payloadLength;
    arena.putLong(at + ENTRY_PAYLOAD_LENGTH, Integer.toUnsignedLong(lengthWord));
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

  /** Geometric: each further level has probability 1/4. */
  private int heightFor(long offset) {
    long bits = (offset ^ heightSeed) * 0x9e3779b97f4a7c15L;
    bits = (bits ^ bits >>> 32) * 0xbf58476d1ce4e5b9L;
    bits ^= bits >>> 29;
    return Math.min(HEIGHT_MAX, 1 + Long.numberOfTrailingZeros(bits | 1L << 62) / 2);
  }
}
