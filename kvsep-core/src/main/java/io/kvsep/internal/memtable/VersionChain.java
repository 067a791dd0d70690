package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/**
 * The newer versions of a key of a skip list, from the newest down to that of the key's node, which
 * is the oldest. Each knows the next older one and another, far older one, placed so that any of n
 * versions is reached in O(log n) steps (E. W. Myers, "An applicative random-access stack", 1983).
 *
 * <p>Thread safe: one thread may add while any number of threads read. What comes in the order of
 * age goes to the front; what is late goes between two others, and then steps past it may be more.
 *
 * <p>Layout, by which {@link Nodes} tells the two kinds of node apart: there.
 */
final class VersionChain {
  private final Region arena;

  VersionChain(Region arena) {
    this.arena = arena;
  }

  /** The newest version of a key. */
  int newest(int keyNode) {
    int first = olderLink(keyNode);
    return first == Nodes.NULL ? keyNode : first;
  }

  /** The version before this one, {@link SkipList#NULL} behind the key's node. */
  int older(int keyNode, int version) {
    if (version == keyNode) {
      return Nodes.NULL;
    }
    int older = olderLink(version);
    return older == Nodes.NULL ? keyNode : older;
  }

  /** The newest version with a tag of at most {@code tag}; that of the key's node has one. */
  int atOrBelow(int keyNode, long tag) {
    int version = newest(keyNode);
    while (tag(version) > tag) {
      int far = jump(version);
      version = tag(far) > tag ? far : older(keyNode, version);
    }
    return version;
  }

  /** The oldest version with a higher tag; {@link SkipList#NULL} when there is none. */
  int above(int keyNode, long tag) {
    int version = newest(keyNode);
    if (tag(version) <= tag) {
      return Nodes.NULL;
    }
    while (true) {
      int far = jump(version);
      int older = older(keyNode, version);
      if (tag(far) > tag) {
        version = far;
      } else if (tag(older) > tag) {
        version = older;
      } else {
        return version;
      }
    }
  }

  /** Adds a version whose node is written but for what it says of others. */
  void add(int keyNode, int version) {
    long tag = tag(version);
    int newer = keyNode;
    int older = olderLink(newer);
    while (older != Nodes.NULL && tag(older) > tag) {
      newer = older;
      older = olderLink(newer);
    }
    arena.putInt(Nodes.olderOffset(arena, version), older);
    stack(keyNode, version, older == Nodes.NULL ? keyNode : older);
    arena.putIntRelease(Nodes.olderOffset(arena, newer), version);
  }

  /** Says how deep a version lies and where it jumps to. */
  private void stack(int keyNode, int version, int older) {
    int depth = depth(keyNode, older);
    int far = older == keyNode ? keyNode : jump(older);
    int farther = far == keyNode ? keyNode : jump(far);
    boolean even = depth - depth(keyNode, far) == depth(keyNode, far) - depth(keyNode, farther);
    arena.putInt(version + Nodes.VERSION_JUMP, even ? farther : older);
    arena.putInt(version + Nodes.VERSION_DEPTH, depth + 1);
  }

  private int depth(int keyNode, int version) {
    return version == keyNode ? 0 : arena.getInt(version + Nodes.VERSION_DEPTH);
  }

  private int jump(int version) {
    return arena.getInt(version + Nodes.VERSION_JUMP);
  }

  private long tag(int version) {
    return arena.getLong(arena.getInt(version));
  }

  private int olderLink(int version) {
    return arena.getIntVolatile(Nodes.olderOffset(arena, version));
  }
}
