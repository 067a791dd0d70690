package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/** Predicate over the entries of a memtable. */
public interface EntryTest {
  /** Tests the entry whose stored key is at {@code keyOffset} of the arena. */
  boolean test(Region arena, long keyOffset, int keyLength, long tag);
}
