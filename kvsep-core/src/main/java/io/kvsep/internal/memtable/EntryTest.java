package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/** Test of an entry. */
public interface EntryTest {
  /** The stored key is at {@code keyOffset} of the arena. */
  boolean test(Region arena, long keyOffset, int keyLength, long tag);
}
