package io.kvsep.internal.memtable;

import io.kvsep.internal.memory.Region;

/** A question about an entry of a memtable. */
public interface EntryTest {
  /** The answer for the entry with the stored key at a place of the arena. */
  boolean test(Region arena, long keyOffset, int keyLength, long tag);
}
