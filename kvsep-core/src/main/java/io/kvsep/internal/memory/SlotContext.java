package io.kvsep.internal.memory;

/** The scratch space of one {@link EpochSlot}. */
public interface SlotContext {
  /** The slot is not in use any more. */
  void free();
}
