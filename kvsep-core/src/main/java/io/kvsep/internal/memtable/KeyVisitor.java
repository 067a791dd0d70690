package io.kvsep.internal.memtable;

import io.kvsep.internal.iterator.Position;
import io.kvsep.internal.memory.Region;

/** Receives keys of a memtable. */
public interface KeyVisitor {
  /**
   * Receives the key at {@code keyOffset} of the arena.
   *
   * @param oldestTag tag of its oldest entry in the memtable
   * @param newest tag and payload of its newest entry; reused
   */
  void visit(Region arena, long keyOffset, int keyLength, long oldestTag, Position newest);
}
