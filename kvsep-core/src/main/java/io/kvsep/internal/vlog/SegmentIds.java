package io.kvsep.internal.vlog;

import java.util.Collection;

/**
 * A fixed sorted set of segment ids. A lookup, made for each index entry, costs one or two memory
 * accesses and allocates nothing. Immutable.
 */
final class SegmentIds {
  /** Sparse, so that most absent ids hit a free slot. */
  private static final int SLOTS_PER_ID = 4;

  private final long[] ids;

  /** Index plus 1 by hash, 0 for a free slot. */
  private final int[] slots;

  SegmentIds(Collection<Long> all) {
    ids = all.stream().mapToLong(Long::longValue).sorted().distinct().toArray();
    slots = new int[Integer.highestOneBit(Math.max(1, ids.length)) * 2 * SLOTS_PER_ID];
    for (int index = 0; index < ids.length; index++) {
      int slot = slotOf(ids[index]);
      while (slots[slot] != 0) {
        slot = slot + 1 & slots.length - 1;
      }
      slots[slot] = index + 1;
    }
  }

  int count() {
    return ids.length;
  }

  long id(int index) {
    return ids[index];
  }

  /** Index in the order, -1 if absent. */
  int indexOf(long id) {
    for (int slot = slotOf(id); slots[slot] != 0; slot = slot + 1 & slots.length - 1) {
      int index = slots[slot] - 1;
      if (ids[index] == id) {
        return index;
      }
    }
    return -1;
  }

  /** Ids are consecutive, so the low bits spread them. */
  private int slotOf(long id) {
    return (int) id & slots.length - 1;
  }
}
