package io.kvsep.internal.memtable;

import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A skip list (W. Pugh, 1990) of keys, each with a {@link VersionChain}, made of {@link Nodes}.
 * Insert-only, so readers need no locks. Overwrites extend only the chain.
 *
 * <p>A list may start <em>deferring</em>: new key nodes are only put into the index, without a
 * search. When a caller first needs order, they are linked in one sorted pass, which takes a
 * fraction of the time. The next insert ends deferring.
 *
 * <p>Thread safety: one thread may insert while any number read. Only linking deferred nodes takes
 * a lock; callers that need order and the next insert wait for it. Another thread may take over
 * inserting if it sees the writes of the previous one.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: A node is complete before it is linked into level 0 or a chain, or put into the index.
 *   <li>I2: No version in a chain is older than the key node. A key has several nodes only if an
 *       older version was inserted after a newer one; then the node with the higher tag was
 *       inserted first, and its whole chain is newer than the next node's.
 *   <li>I3: Each level is sorted in internal order; level n+1 holds a subset of level n. A node is
 *       linked from level 0 upwards; until all its levels are linked, searches are only slower.
 *   <li>I4: While the index is complete, a key node is in it before it is in the list. Nodes before
 *       {@link #ordered} are in the list; if there are others, the index is complete and holds
 *       them, one per key.
 *   <li>I5: Links are written by the lock holder or, once nothing is deferred, by the inserting
 *       thread.
 *   <li>I6: Nothing is ever unlinked; memory is freed with the arena.
 *   <li>I7: A {@link Link} holds how many leading bytes the keys of its two nodes share, and the
 *       next bytes of the second key.
 * </ul>
 *
 * <p>A search knows how many bytes its key shares with the current, smaller node. If that node
 * shares more bytes with the next node, the next node is smaller too; if fewer, bigger; if equally
 * many, the link's bytes almost always decide. So a search reads nodes and rarely entries. Keys
 * compare as if followed by zeros; those that differ only in trailing zeros are compared in full. A
 * position is a key node (upper half) with a node.
 */
final class SkipList {
  static final int NULL = Nodes.NULL;
  static final int HEAD = Nodes.HEAD;

  private static final int SHARED_MAX = 255;

  /** Flag above any number of shared bytes. */
  private static final int LESS = 256;

  /** Entries of this size are sorted within a fraction of a millisecond. */
  private static final long UNORDERED_BYTES_MAX = 64 << 10;

  /** Value of {@link #ordered} once deferring has ended. */
  private static final long ALL = Integer.MAX_VALUE;

  private final Nodes nodes;
  private final Region arena;
  private final VersionChain versions;
  private final KeyIndex index;

  /** Levels in use; only grows. A reader that sees an old value starts lower. */
  private volatile int height = 1;

  private final AtomicLong completed;

  /** Nodes before it are in the list. Written under {@link #orderLock}. */
  private final AtomicLong ordered;

  private final ReentrantLock orderLock = new ReentrantLock();

  private volatile boolean orderWanted;

  /** Accessed only by the inserting thread. */
  private boolean deferring;

  /**
   * @param defers whether to start deferring
   */
  SkipList(Nodes nodes, KeyIndex index, boolean defers) {
    this.nodes = nodes;
    this.arena = nodes.arena();
    this.index = index;
    this.versions = new VersionChain(arena);
    this.completed = new AtomicLong(nodes.position());
    this.ordered = new AtomicLong(defers ? nodes.position() : ALL);
    this.deferring = defers;
  }

  Nodes nodes() {
    return nodes;
  }

  long completed() {
    return completed.getAcquire();
  }

  /** Called by the inserting thread after each insert. */
  void complete() {
    completed.setRelease(nodes.position());
  }

  boolean isOrderWanted() {
    return orderWanted;
  }

  boolean isDeferring() {
    return deferring;
  }

  /** Links all completely inserted nodes, and makes the next insert end deferring. */
  void wantOrder() {
    if (!orderWanted) {
      orderWanted = true;
    }
    order(completed());
  }

  /** Tests in insertion order. Inserts up to {@code to} must be complete. */
  boolean anyBetween(long from, long to, EntryPredicate test) {
    Nodes.Walk walk = nodes.new Walk(from, to);
    while (walk.next()) {
      int keyNode = walk.keyNode();
      long tag = nodes.tag(walk.node());
      if (test.test(arena, nodes.keyOffset(keyNode), nodes.keyLength(keyNode), tag)) {
        return true;
      }
    }
    return false;
  }

  /** Scratch space of an insert: predecessors by level. */
  static final class Splice {
    private final int[] before = new int[Nodes.HEIGHT_MAX];

    /** Bytes that the new key shares with the predecessor. */
    private final int[] shared = new int[Nodes.HEIGHT_MAX];

    /** Whether the node after the predecessors may have the same key. */
    private boolean sameKey;
  }

  /**
   * Returns the node of the entry, or {@link #NULL}, with nothing changed, if the arena is full.
   */
  int insert(Entry entry, Splice splice) {
    Region key = Objects.requireNonNull(entry.keyRegion);
    boolean indexed = index.isComplete();
    long hash = indexed ? KeyHash.of(key, entry.keyOffset, entry.keyLength) : 0;
    int known = indexed ? index.probe(hash, nodes, key, entry.keyOffset, entry.keyLength) : NULL;
    boolean newest = known != NULL && nodes.tag(known) <= entry.tag;
    // A newer version needs no order, but ends deferring if order is wanted: there may be no other
    // inserts.
    if (deferring && (orderWanted || (known != NULL && !newest))) {
      endDeferring();
    }
    if (newest) {
      return insertVersion(entry, known);
    }
    if (!deferring) {
      long place = search(key, entry.keyOffset, entry.keyLength, entry.tag, splice);
      if (splice.sameKey && nodes.hasKey((int) place, key, entry.keyOffset, entry.keyLength)) {
        return insertVersion(entry, (int) place);
      }
    }
    int node = nodes.write(entry, NULL);
    if (node == NULL) {
      return NULL;
    }
    boolean put = known != NULL || index.put(hash, node, deferring);
    if (deferring) {
      if (put) {
        return node;
      }
      endDeferring();
      search(key, entry.keyOffset, entry.keyLength, entry.tag, splice);
    }
    if (!put) {
      index.giveUp();
    }
    linkTower(node, key, entry.keyOffset, entry.keyLength, entry.tag, splice);
    return node;
  }

  /** Whether the next insert may have to sort many entries first. */
  boolean insertMayTakeLong() {
    return deferring
        && orderWanted
        && Nodes.bytesBetween(ordered.getAcquire(), completed()) > UNORDERED_BYTES_MAX;
  }

  /** Like {@link #wantOrder} ahead of time; does nothing if another thread holds the lock. */
  void prepareOrder() {
    if (orderLock.tryLock()) {
      try {
        order(completed());
      } catch (OutOfMemoryError e) {
        // Optional: wantOrder does it later.
        return;
      } finally {
        orderLock.unlock();
      }
    }
  }

  private void endDeferring() {
    orderLock.lock();
    try {
      order(completed());
      ordered.setRelease(ALL);
    } finally {
      orderLock.unlock();
    }
    deferring = false;
  }

  private void order(long to) {
    if (Nodes.isWithin(to, ordered.getAcquire())) {
      return;
    }
    orderLock.lock();
    try {
      Splice splice = new Splice();
      long from = ordered.getPlain();
      while (!Nodes.isWithin(to, from)) {
        from = orderNext(from, to, splice);
        ordered.setRelease(from);
      }
    } finally {
      orderLock.unlock();
    }
  }

  /** Links the next batch; returns the position after it. */
  private long orderNext(long from, long to, Splice splice) {
    Nodes.Walk walk = nodes.new Walk(from, to);
    NodeSort sort;
    try {
      sort = new NodeSort(nodes, walk, from, to);
    } catch (OutOfMemoryError e) {
      return orderUnsorted(nodes.new Walk(from, to), splice);
    }
    int last = NULL;
    for (int i = 0; i < sort.count(); i++) {
      int node = sort.node(i);
      // Linked by an earlier pass that failed.
      if (!nodes.isLinked(node)) {
        linkBehind(last, node, splice);
        last = node;
      }
    }
    return walk.position();
  }

  /** Slower, without allocation. */
  private long orderUnsorted(Nodes.Walk walk, Splice splice) {
    while (walk.next()) {
      if (!walk.isOfVersion() && !nodes.isLinked(walk.node())) {
        linkBehind(NULL, walk.node(), splice);
      }
    }
    return walk.position();
  }

  /** Links a node by a finger search from {@code last}, the node linked before or {@link #NULL}. */
  private void linkBehind(int last, int node, Splice splice) {
    long key = nodes.keyOffset(node);
    int length = nodes.keyLength(node);
    long tag = nodes.tag(node);
    int order = last == NULL ? 0 : compare(last, arena, key, length, tag);
    if (order >= LESS) {
      advance(last, order - LESS, key, length, tag, splice);
    } else {
      search(arena, key, length, tag, splice);
    }
    linkTower(node, arena, key, length, tag, splice);
  }

  /**
   * Moves a splice from {@code last} to a later key.
   *
   * @param shared bytes that both share
   */
  private void advance(int last, int shared, long key, int length, long tag, Splice splice) {
    int levels = height;
    int lastHeight = nodes.height(last);
    for (int level = 0; level < levels; level++) {
      // Of three sorted keys, bytes shared by the first and third are shared by the second.
      splice.before[level] = level < lastHeight ? last : splice.before[level];
      splice.shared[level] = level < lastHeight ? shared : Math.min(shared, splice.shared[level]);
    }
    int level = 0;
    int next = next(splice.before[0], 0);
    while (next != NULL && isLess(splice, level, key, length, tag)) {
      level++;
      next = level < levels ? next(splice.before[level], level) : NULL;
    }
    if (level > 0) {
      int from = level - 1;
      descend(
          splice.before[from], splice.shared[from], from, next, arena, key, length, tag, splice);
    }
  }

  private boolean isLess(Splice splice, int level, long key, int length, long tag) {
    int shared = splice.shared[level];
    int more = Link.nextBytes(arena, key, length, shared);
    long link = link(splice.before[level], level);
    return order(link, shared, more, arena, key, length, tag) >= LESS;
  }

  private int insertVersion(Entry entry, int keyNode) {
    int version = nodes.write(entry, keyNode);
    if (version != NULL) {
      versions.add(keyNode, version);
      index.overwritten();
    }
    return version;
  }

  /** Newest version of the key with a tag of at most {@code tag}; {@link #NULL} if none. */
  int find(Region key, long offset, int length, long hash, long tag) {
    int known = index.find(hash, nodes, key, offset, length);
    if (known == NULL && index.isComplete()) {
      return NULL;
    }
    int version = known != NULL && isShown(known) ? versions.atOrBelow(known, tag) : NULL;
    if (version != NULL) {
      return version;
    }
    int keyNode = (int) search(key, offset, length, tag, /* splice= */ null);
    return keyNode != NULL && nodes.hasKey(keyNode, key, offset, length)
        ? versions.atOrBelow(keyNode, tag)
        : NULL;
  }

  /** Whether walks find the node too. */
  private boolean isShown(int keyNode) {
    return nodes.isLinked(keyNode) || Nodes.isBefore(keyNode, completed());
  }

  /** First position at or after this one; {@link #NULL} past the end. */
  long findAtOrAfter(Region key, long offset, int length, long tag) {
    int keyNode = (int) search(key, offset, length, tag, /* splice= */ null);
    if (keyNode == NULL) {
      return NULL;
    }
    return nodes.hasKey(keyNode, key, offset, length)
        ? position(keyNode, versions.atOrBelow(keyNode, tag))
        : newest(keyNode);
  }

  /** Last position before this one; {@link #NULL} if none. */
  long findBefore(Region key, long offset, int length, long tag) {
    long place = search(key, offset, length, tag, /* splice= */ null);
    int keyNode = (int) place;
    if (keyNode != NULL && nodes.hasKey(keyNode, key, offset, length)) {
      int version = versions.above(keyNode, tag);
      if (version != NULL) {
        return position(keyNode, version);
      }
    }
    int before = (int) (place >>> 32);
    return before == HEAD ? NULL : oldest(before);
  }

  /** Node of the newest entry of a key. */
  int newestVersion(int keyNode) {
    return versions.newest(keyNode);
  }

  long first() {
    return newest(next(HEAD, 0));
  }

  long next(long position) {
    long older = older(position);
    return older != NULL ? older : newest(next(keyNode(position), 0));
  }

  /** The key's next older version; {@link #NULL} if none. */
  long older(long position) {
    int keyNode = keyNode(position);
    int older = versions.older(keyNode, node(position));
    return older != NULL ? position(keyNode, older) : NULL;
  }

  /** The key's oldest version with a higher tag; {@link #NULL} if none. */
  long newer(int keyNode, long tag) {
    int newer = versions.above(keyNode, tag);
    return newer != NULL ? position(keyNode, newer) : NULL;
  }

  /** The key node's oldest version. */
  static long oldest(int keyNode) {
    return position(keyNode, keyNode);
  }

  /** The last node before a key node on a level; the head if none. */
  int findBefore(int keyNode, int level, Splice scratch) {
    int levels = height;
    search(arena, nodes.keyOffset(keyNode), nodes.keyLength(keyNode), nodes.tag(keyNode), scratch);
    return level < levels ? scratch.before[level] : HEAD;
  }

  long newest(int keyNode) {
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

  long last() {
    int prev = HEAD;
    int level = height - 1;
    while (true) {
      int next = next(prev, level);
      if (next != NULL) {
        prev = next;
      } else if (level == 0) {
        return prev == HEAD ? NULL : oldest(prev);
      } else {
        level--;
      }
    }
  }

  /**
   * Upper half: the last key node before the position, or the head. Lower half: the node after it.
   *
   * @param splice receives the predecessors
   */
  private long search(Region key, long offset, int length, long tag, @Nullable Splice splice) {
    return descend(HEAD, 0, height - 1, NULL, key, offset, length, tag, splice);
  }

  /**
   * Continues a search at {@code prev}.
   *
   * @param shared bytes that the key shares with {@code prev}
   * @param bigger a node not before the position
   */
  private long descend(
      int prev,
      int shared,
      int level,
      int bigger,
      Region key,
      long offset,
      int length,
      long tag,
      @Nullable Splice splice) {
    int more = Link.nextBytes(key, offset, length, shared);
    boolean sameKey = false;
    while (true) {
      long link = link(prev, level);
      int next = Link.next(link);
      // A node found bigger on the level above needs no comparison.
      if (next != NULL && next != bigger) {
        int order = order(link, shared, more, key, offset, length, tag);
        if (order >= LESS) {
          prev = next;
          if (order - LESS != shared) {
            shared = order - LESS;
            more = Link.nextBytes(key, offset, length, shared);
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

  private void linkTower(int node, Region key, long offset, int length, long tag, Splice splice) {
    int levels = height;
    int nodeHeight = nodes.height(node);
    if (nodeHeight > levels) {
      height = nodeHeight;
      Arrays.fill(splice.before, levels, nodeHeight, HEAD);
      Arrays.fill(splice.shared, levels, nodeHeight, 0);
    }
    for (int level = 0; level < nodeHeight; level++) {
      link(node, level, key, offset, length, tag, splice);
      if (level == 0) {
        nodes.setLinked(node, length);
      }
    }
  }

  private void link(
      int node, int level, Region key, long offset, int length, long tag, Splice splice) {
    int prev = splice.before[level];
    int shared = splice.shared[level];
    long link = link(prev, level);
    int next = Link.next(link);
    int more = Link.nextBytes(key, offset, length, shared);
    int order = next == NULL ? 0 : order(link, shared, more, key, offset, length, tag);
    // If node and predecessor share equally many bytes with the next node, the link stays the same.
    boolean same = next == NULL || order == Link.shared(link);
    arena.putLong(Nodes.tower(node, level), same ? link : linkTo(next, order));
    arena.putLongRelease(Nodes.tower(prev, level), Link.of(node, shared, more));
  }

  /**
   * Compares the target of a link with a key.
   *
   * @param shared bytes shared by the key and the node with the link
   * @param more the key's next bytes
   * @return bytes shared by the target and the key, plus {@link #LESS} if the target is smaller
   */
  private int order(
      long link, int shared, int more, Region key, long offset, int length, long tag) {
    int linkShared = Link.shared(link);
    if (linkShared > shared) {
      return LESS + shared;
    }
    if (linkShared < shared) {
      return linkShared;
    }
    int linkMore = Link.more(link);
    if (linkMore != more && shared < SHARED_MAX) {
      int same = (Integer.numberOfLeadingZeros(linkMore ^ more) - 8) >>> 3;
      return (linkMore < more ? LESS : 0) + Math.min(SHARED_MAX, shared + same);
    }
    return compare(Link.next(link), key, offset, length, tag);
  }

  /** Like {@link #order}, but by the full keys. */
  private int compare(int node, Region key, long offset, int length, long tag) {
    int nodeLength = nodes.keyLength(node);
    long nodeOffset = nodes.keyOffset(node);
    int shared = Region.commonPrefix(arena, nodeOffset, nodeLength, key, offset, length);
    int common = Math.min(nodeLength, length);
    boolean less;
    if (shared < common) {
      less = (arena.getByte(nodeOffset + shared) & 0xff) < (key.getByte(offset + shared) & 0xff);
    } else if (nodeLength == length) {
      // Newer versions come first.
      return (tag < nodes.tag(node) ? LESS : 0) + SHARED_MAX;
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
    return Link.of(
        node, shared, Link.nextBytes(arena, nodes.keyOffset(node), nodes.keyLength(node), shared));
  }

  private long link(int node, int level) {
    return arena.getLongVolatile(Nodes.tower(node, level));
  }

  /** The next node on a level; {@link #NULL} at the end. */
  int next(int node, int level) {
    return Link.next(link(node, level));
  }
}
