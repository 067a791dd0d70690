package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/** Says where the values of entries are from now on that a flush or compaction writes. */
@FunctionalInterface
public interface PointerRefresh {
  /** Leaves all pointers as they are. */
  PointerRefresh NONE = (entry, pointerOffset, target, targetOffset) -> 0;

  /**
   * Writes a pointer that is better than the one an entry has.
   *
   * @param entry at an entry with a pointer
   * @param pointerOffset where that is in the region of the entry's payload
   * @return bytes written, at most those of the longest pointer; 0 when there is none that is
   *     better
   */
  int refresh(InternalIterator entry, long pointerOffset, Region target, long targetOffset)
      throws IOException;

  /** No entry is left: what was written for them is durable when this returns. */
  default void finish() throws IOException {}
}
