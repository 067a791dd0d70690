package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/**
 * The versions of a key, from the newest to the oldest, which is the key node. Each links to the
 * next older one and to a far older one, so any of n versions is reached in O(log n) steps (E. W.
 * Myers, "An applicative random-access stack", 1983). {@link Nodes} has the layout.
 *
 * <p>Thread safe: one thread may add while any number read. A version inserted after a newer one
 * goes between two others; passing it may take more steps.
 */
final class VersionChain {
  private final Region arena;

  VersionChain(Region arena) {
    this.arena = arena;
  }

  int newest(int keyNode) {
    int first = olderLink(keyNode);
    return first == Nodes.NULL ? keyNode : first;
  }

  /** {@link SkipList#NULL} after the key node. */
  int older(int keyNode, int version) {
    if (version == keyNode) {
      return Nodes.NULL;
    }
    int older = olderLink(version);
    return older == Nodes.NULL ? keyNode : older;
  }

  /** The newest version with a tag of at most {@code tag}; {@link SkipList#NULL} if none. */
  int atOrBelow(int keyNode, long tag) {
    int version = newest(keyNode);
    while (tag(version) > tag) {
      if (version == keyNode) {
        return Nodes.NULL;
      }
      int far = jump(version);
      version = tag(far) > tag ? far : older(keyNode, version);
    }
    return version;
  }

  /** The oldest version with a higher tag; {@link SkipList#NULL} if none. */
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

  /** The version must be complete except for its links. */
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

  /** Sets depth and far link. */
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
