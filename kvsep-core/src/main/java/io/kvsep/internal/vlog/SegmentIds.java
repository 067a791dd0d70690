package io.kvsep.internal.vlog;

import java.util.Collection;

/**
 * A fixed set of segment ids in ascending order, asked once for each entry of the index. Immutable;
 * a lookup costs one or two accesses to memory and allocates nothing.
 */
final class SegmentIds {
  /** So that most of what is not in the set meets a free slot. */
  private static final int SLOTS_PER_ID = 4;

  private final long[] ids;

  /** Index plus 1 by hash of the id, 0 where there is none. */
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

  /** Place in the order, -1 when the id is not in the set. */
  int indexOf(long id) {
    for (int slot = slotOf(id); slots[slot] != 0; slot = slot + 1 & slots.length - 1) {
      int index = slots[slot] - 1;
      if (ids[index] == id) {
        return index;
      }
    }
    return -1;
  }

  /** Ids count up, so neighbours fall into different slots. */
  private int slotOf(long id) {
    return (int) id & slots.length - 1;
  }
}
