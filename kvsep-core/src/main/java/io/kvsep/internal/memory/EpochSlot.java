package io.kvsep.internal.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** The place of one thread in the {@link Epochs}, with its scratch space. */
public final class EpochSlot<C extends SlotContext> extends EpochSlotPadding {
  static final long IDLE = 0;
  private static final long NO_OWNER = 0;
  private static final int OWNER_BITS = 24;
  private static final long OWNER_MASK = (1L << OWNER_BITS) - 1;

  /** In place of an epoch: the thread keeps its slot but delays no release. */
  private static final long RESTING = -1L >>> OWNER_BITS;

  private static final VarHandle STATE = stateHandle();

  /**
   * Epoch at which the reader entered and the low bits of its thread id, in one write, so that a
   * thread inside is always identifiable. {@link #IDLE} if vacant.
   */
  private volatile long state;

  /**
   * Id of the thread inside. Storing a reference would make the garbage collector mark a card, and
   * the cards of all slots share cache lines.
   */
  private long ownerId;

  private final C context;

  EpochSlot(C context) {
    this.context = context;
  }

  public C context() {
    return context;
  }

  boolean isVacant() {
    return state == IDLE;
  }

  boolean tryEnter(long now, long threadId) {
    if (announce(now, threadId)) {
      ownerId = threadId;
      return true;
    }
    return false;
  }

  boolean announce(long now, long threadId) {
    // The compare-and-set is also the full fence between announcing the epoch and reading anything
    // that the epoch protects.
    return STATE.compareAndSet(this, IDLE, (now << OWNER_BITS) | (threadId & OWNER_MASK));
  }

  /** No effect unless the calling thread is inside. */
  void leave(long threadId) {
    if (isOwnedBy(threadId)) {
      ownerId = NO_OWNER;
      STATE.setRelease(this, IDLE);
    }
  }

  /** Ends the epoch but keeps the slot. No effect unless the calling thread is inside. */
  void rest(long threadId) {
    if (isOwnedBy(threadId)) {
      STATE.setRelease(this, (RESTING << OWNER_BITS) | (threadId & OWNER_MASK));
    }
  }

  public boolean isResting() {
    return state >>> OWNER_BITS == RESTING;
  }

  /** {@link #IDLE} if vacant or resting. */
  long epoch() {
    long epoch = state >>> OWNER_BITS;
    return epoch == RESTING ? IDLE : epoch;
  }

  /** Whether this thread is inside or entering; other threads never write its id. */
  boolean isOwnedBy(long threadId) {
    long owner = ownerId;
    if (owner != NO_OWNER) {
      return owner == threadId;
    }
    long seen = state;
    return seen != IDLE && (seen & OWNER_MASK) == (threadId & OWNER_MASK);
  }

  void free() {
    context.free();
  }

  private static VarHandle stateHandle() {
    try {
      return MethodHandles.lookup().findVarHandle(EpochSlot.class, "state", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }
}

/** Keeps the epochs of two slots in separate cache lines. */
class EpochSlotPadding {
  @SuppressWarnings("unused") // Never read; takes up space.
  long p0;

  @SuppressWarnings("unused")
  long p1;

  @SuppressWarnings("unused")
  long p2;

  @SuppressWarnings("unused")
  long p3;

  @SuppressWarnings("unused")
  long p4;

  @SuppressWarnings("unused")
  long p5;

  @SuppressWarnings("unused")
  long p6;

  @SuppressWarnings("unused")
  long p7;
}
