package io.kvsep.internal.memory;

/** The scratch space of one {@link EpochSlot}, used only by the thread that is inside it. */
public interface SlotContext {
  /** Gives back what the context holds; nobody is inside the slot any more. */
  void free();
}
