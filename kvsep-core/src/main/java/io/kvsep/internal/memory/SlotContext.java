package io.kvsep.internal.memory;

/** The scratch space of one {@link EpochSlot}, used only by the thread inside it. */
public interface SlotContext {
  /** Frees the context; the slot is not in use any more. */
  void free();
}
