package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/** A predicate on the entries of a memtable. */
public interface EntryPredicate {
  /** The stored key is at {@code keyOffset} of the arena. */
  boolean test(Region arena, long keyOffset, int keyLength, long tag);
}
