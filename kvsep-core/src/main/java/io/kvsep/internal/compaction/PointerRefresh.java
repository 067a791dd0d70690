package io.kvsep.internal.compaction;

import io.kvsep.internal.memory.Region;

/**
 * Says where values are now to which older entries point by the names of segments that are gone.
 */
@FunctionalInterface
public interface PointerRefresh {
  /** Leaves all pointers as they are. */
  PointerRefresh NONE = (pointer, pointerOffset, target, targetOffset) -> 0;

  /**
   * Writes the pointer that leads to the same record without a detour.
   *
   * @return bytes written, at most those of the longest pointer; 0 when there is none that is
   *     better
   */
  int refresh(Region pointer, long pointerOffset, Region target, long targetOffset);
}
