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
 * A skip list (W. Pugh, 1990; insert-only, so that readers need no locks) of keys, each with its
 * versions behind it, made of {@link Nodes}. A key that is written over and over makes the list no
 * longer, only its own chain of versions, see {@link VersionChain}.
 *
 * <p>A list may begin by <em>deferring</em>: then a new key's node is put into the index only, by
 * which it is found, and nobody searches its place. That is made up for all at once, sorted, which
 * takes a fraction of the time, when somebody wants the keys in order, and from then on each goes
 * to its place at once.
 *
 * <p>Thread safety: one thread may insert while any number of threads read, without locks but while
 * what was deferred is made up for: whoever wants order waits for that, and so does the next
 * insert. Others may insert later, when what the one wrote is visible to them.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>A node is complete before the write that links it into level 0 or into a chain, or puts it
 *       into the index.
 *   <li>All versions in a chain are as new as that of the key's node or newer. A key has more than
 *       one node only where an older version came later than a newer one; then the node with the
 *       higher tag was there first, and all of its chain is newer than that of the next node.
 *   <li>Each level is sorted in internal order; level n+1 holds a subset of level n. A node may for
 *       a moment be linked in level n and not yet in n+1; searches only get slower by that.
 *   <li>A key's node is in the index, as long as that is complete, before it is in the list. What
 *       lies before {@link #ordered} is in the list. What does not, is in the index, which is
 *       complete then, and has one node of each key.
 *   <li>Links are made by whoever holds the lock, or, once nothing is deferred any more, by the
 *       thread that inserts.
 *   <li>Nothing is ever unlinked; memory is given back with the whole arena.
 *   <li>A {@link Link} says of the two nodes it connects how many bytes their keys share, and what
 *       the next node's key goes on with.
 * </ol>
 *
 * <p>A position is a node and that of its key.
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
  static final int NULL = Nodes.NULL;
  private static final int HEAD = Nodes.HEAD;

  /** Bytes that two keys share are counted up to here. */
  private static final int SHARED_MAX = 255;

  /** Above any number of shared bytes. */
  private static final int LESS = 256;

  /** What {@link #ordered} is when everything is in the list, and will be. */
  private static final long ALL = Integer.MAX_VALUE;

  private final Nodes nodes;
  private final Region arena;
  private final VersionChain versions;
  private final KeyIndex index;

  /** Levels in use; only grows. A reader that sees an old value just walks lower levels. */
  private volatile int height = 1;

  /** Behind the last complete insert. */
  private final AtomicLong completed;

  /** What lies before it is in the list. Written under the lock. */
  private final AtomicLong ordered;

  /** Held while what was deferred is made up for. */
  private final ReentrantLock orderLock = new ReentrantLock();

  private volatile boolean orderWanted;

  /** Of the thread that inserts. */
  private boolean deferring;

  /**
   * A list without entries.
   *
   * @param defers whether keys are brought in order only when somebody wants that
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

  /** The position behind the last insert that is complete. */
  long completed() {
    return completed.getAcquire();
  }

  /** The insert is complete. By who inserts, behind each. */
  void complete() {
    completed.setRelease(nodes.position());
  }

  /** Whether anybody wanted the keys in order so far. */
  boolean isOrderWanted() {
    return orderWanted;
  }

  /** Whether keys are found by the index alone. By who inserts. */
  boolean isDeferring() {
    return deferring;
  }

  /** From here on, all whose insert is complete by now is in the list. */
  void wantOrder() {
    if (!orderWanted) {
      orderWanted = true;
    }
    order(completed());
  }

  /**
   * Asks about the entries between two positions, in the order in which they were inserted; whether
   * the answer was yes for one. All of them have to be complete.
   */
  boolean anyBetween(long from, long to, EntryTest test) {
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

  /** Room an insert works with: where it goes on each level. */
  static final class Splice {
    private final int[] before = new int[Nodes.HEIGHT_MAX];

    /** Bytes that the new key shares with the node before. */
    private final int[] shared = new int[Nodes.HEIGHT_MAX];

    /** The node on which the search ended has the key, or may have it. */
    private boolean sameKey;
  }

  /** Adds the entry; false, with nothing changed, when the arena has no room for it. */
  boolean insert(Entry entry, Splice splice) {
    Region key = Objects.requireNonNull(entry.keyRegion);
    boolean indexed = index.isComplete();
    long hash = indexed ? KeyHash.of(key, entry.keyOffset, entry.keyLength) : 0;
    int known = indexed ? index.probe(hash, nodes, key, entry.keyOffset, entry.keyLength) : NULL;
    boolean newest = known != NULL && nodes.tag(known) <= entry.tag;
    // A newer version of a known key needs no order, but whoever only writes such has to end it
    // too.
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
      return false;
    }
    boolean put = known != NULL || index.put(hash, node, deferring);
    if (deferring) {
      if (put) {
        return true;
      }
      endDeferring();
      search(key, entry.keyOffset, entry.keyLength, entry.tag, splice);
    }
    if (!put) {
      index.giveUp();
    }
    linkTower(node, key, entry.keyOffset, entry.keyLength, entry.tag, splice);
    return true;
  }

  /** Bytes of entries that the next insert, or who wants order, has to bring in order first. */
  long unorderedBytes() {
    return Nodes.bytesBetween(ordered.getAcquire(), completed());
  }

  /** Does what {@link #wantOrder} would have to, unless somebody is at it. */
  void prepareOrder() {
    if (orderLock.tryLock()) {
      try {
        order(completed());
      } catch (OutOfMemoryError e) {
        // Nobody asked for it.
        return;
      } finally {
        orderLock.unlock();
      }
    }
  }

  /** Brings everything in order that was inserted so far; from now on each entry is at once. */
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

  /** Sees to it that what lies before a position is in the list. */
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

  /** Puts some nodes into the list; how far it came. */
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
      // It is where somebody before did not come to the end.
      if (!nodes.isLinked(node)) {
        linkBehind(last, node, splice);
        last = node;
      }
    }
    return walk.position();
  }

  /** Takes no memory and more time. */
  private long orderUnsorted(Nodes.Walk walk, Splice splice) {
    while (walk.next()) {
      if (!walk.isOfVersion() && !nodes.isLinked(walk.node())) {
        linkBehind(NULL, walk.node(), splice);
      }
    }
    return walk.position();
  }

  /**
   * Links a node, from the place where another one was linked just before, which is near where the
   * keys come in order: a finger search.
   *
   * @param last that node; {@link #NULL} for none
   */
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
   * Moves a splice from where {@code last} was put to the place of a key behind it.
   *
   * @param shared bytes that the two share
   */
  private void advance(int last, int shared, long key, int length, long tag, Splice splice) {
    int levels = height;
    int lastHeight = nodes.height(last);
    for (int level = 0; level < levels; level++) {
      // In the order of keys, what the first and the third share both share with the second.
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

  /** Whether the node behind the splice comes before a key. */
  private boolean isLess(Splice splice, int level, long key, int length, long tag) {
    int shared = splice.shared[level];
    int more = Link.nextBytes(arena, key, length, shared);
    long link = link(splice.before[level], level);
    return order(link, shared, more, arena, key, length, tag) >= LESS;
  }

  private boolean insertVersion(Entry entry, int keyNode) {
    int version = nodes.write(entry, keyNode);
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
    int known = index.find(hash, nodes, key, offset, length);
    if (known == NULL && index.isComplete()) {
      return NULL;
    }
    if (known != NULL && isShown(known) && nodes.tag(known) <= tag) {
      return versions.atOrBelow(known, tag);
    }
    int keyNode = (int) search(key, offset, length, tag, /* splice= */ null);
    return keyNode != NULL && nodes.hasKey(keyNode, key, offset, length)
        ? versions.atOrBelow(keyNode, tag)
        : NULL;
  }

  /** Whether a walk would meet a node, and not only who finds it in the index. */
  private boolean isShown(int keyNode) {
    return nodes.isLinked(keyNode) || Nodes.isBefore(keyNode, completed());
  }

  /** First position at or after this one, {@link #NULL} past the end. */
  long findAtOrAfter(Region key, long offset, int length, long tag) {
    int keyNode = (int) search(key, offset, length, tag, /* splice= */ null);
    if (keyNode == NULL) {
      return NULL;
    }
    return nodes.hasKey(keyNode, key, offset, length)
        ? position(keyNode, versions.atOrBelow(keyNode, tag))
        : newest(keyNode);
  }

  /** Last position before this one, {@link #NULL} when there is none. */
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

  /**
   * Last node before the position, or the head, in the upper half, and in the lower one the node
   * that came behind it when that was found.
   *
   * @param splice is given where the position is on each of them
   */
  private long search(Region key, long offset, int length, long tag, @Nullable Splice splice) {
    return descend(HEAD, 0, height - 1, NULL, key, offset, length, tag, splice);
  }

  /**
   * Goes on with a search.
   *
   * @param prev a node before the position, or the head
   * @param shared bytes that the key shares with it
   * @param level in which it is
   * @param bigger a node that is known not to come before the position
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
      // A node already found to be bigger on the level above need not be compared again.
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

  /** Puts a node into the list, at the place where a splice is. */
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
    // Sharing as much with the next node as the one before did, the new one gets the same link.
    boolean same = next == NULL || order == Link.shared(link);
    arena.putLong(Nodes.tower(node, level), same ? link : linkTo(next, order));
    arena.putLongRelease(Nodes.tower(prev, level), Link.of(node, shared, more));
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

  /** As {@link #order}, by looking at the whole of both. */
  private int compare(int node, Region key, long offset, int length, long tag) {
    int nodeLength = nodes.keyLength(node);
    long nodeOffset = nodes.keyOffset(node);
    int shared = Region.commonPrefix(arena, nodeOffset, nodeLength, key, offset, length);
    int common = Math.min(nodeLength, length);
    boolean less;
    if (shared < common) {
      less = (arena.getByte(nodeOffset + shared) & 0xff) < (key.getByte(offset + shared) & 0xff);
    } else if (nodeLength == length) {
      // The newer one first.
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

  private int next(int node, int level) {
    return Link.next(link(node, level));
  }
}
