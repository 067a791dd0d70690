package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/** Supplies new pointers to the values of entries that a flush or compaction writes. */
@FunctionalInterface
public interface PointerRefresh {
  /** Leaves all pointers unchanged. */
  PointerRefresh NONE = (entry, pointerOffset, target, targetOffset) -> 0;

  /**
   * Writes a better pointer for the current entry.
   *
   * @param entry positioned at an entry with a pointer
   * @param pointerOffset offset of the pointer in the entry's payload region
   * @return bytes written, at most those of the longest pointer; 0 if there is no better one
   */
  int refresh(InternalIterator entry, long pointerOffset, Region target, long targetOffset)
      throws IOException;

  /**
   * Stores the current entry's value, which is inline, apart from the table, and writes a pointer
   * to it.
   *
   * @param entry positioned at an entry with an inline value
   * @return bytes written, at most those of the longest pointer; 0 if the value stays inline
   */
  default int separate(InternalIterator entry, Region target, long targetOffset)
      throws IOException {
    return 0;
  }

  /** Called before a table ends; what its entries' new pointers lead to is durable on return. */
  default void endTable() throws IOException {}
}
