package io.kvsep.internal.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One thread's place in the {@link Epochs}, with the scratch space that reader works with while it
 * is inside.
 */
public final class EpochSlot<C extends SlotContext> extends EpochSlotPadding {
  static final long IDLE = 0;
  private static final long NOBODY = 0;
  private static final int OWNER_BITS = 24;
  private static final long OWNER_MASK = (1L << OWNER_BITS) - 1;

  /** In place of an epoch: the thread keeps its slot, and nothing that is retired waits for it. */
  private static final long RESTING = -1L >>> OWNER_BITS;

  private static final VarHandle STATE = stateHandle();

  /**
   * Epoch the reader inside entered in, and the last bits of its thread's id: by one instruction,
   * so that nobody is ever inside unknown. {@link #IDLE} when there is none.
   */
  private volatile long state;

  /**
   * Id of the thread inside. Not the thread itself: storing a reference makes the collector mark a
   * card, and the cards of all slots share cache lines.
   */
  private long ownerId;

  private final C context;

  EpochSlot(C context) {
    this.context = context;
  }

  /** The scratch space of whoever is inside. */
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

  /** The first half of entering. */
  boolean announce(long now, long threadId) {
    // The compare-and-set is also the full fence between announcing the epoch and reading anything
    // that the epoch protects.
    return STATE.compareAndSet(this, IDLE, (now << OWNER_BITS) | (threadId & OWNER_MASK));
  }

  /** Does nothing where another thread is inside, or nobody. */
  void leave(long threadId) {
    if (isOwnedBy(threadId)) {
      ownerId = NOBODY;
      STATE.setRelease(this, IDLE);
    }
  }

  /** Ends the epoch and keeps the slot. Does nothing where another thread is inside, or none. */
  void rest(long threadId) {
    if (isOwnedBy(threadId)) {
      STATE.setRelease(this, (RESTING << OWNER_BITS) | (threadId & OWNER_MASK));
    }
  }

  /** Whether the thread inside rests. */
  public boolean isResting() {
    return state >>> OWNER_BITS == RESTING;
  }

  /** {@link #IDLE} where no thread is inside, or one that rests. */
  long epoch() {
    long epoch = state >>> OWNER_BITS;
    return epoch == RESTING ? IDLE : epoch;
  }

  /** Whether this thread is inside, or half inside: others never write its id. */
  boolean isOwnedBy(long threadId) {
    long owner = ownerId;
    if (owner != NOBODY) {
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

/**
 * Keeps the epochs of two slots out of one cache line, which readers would otherwise fight over.
 */
class EpochSlotPadding {
  @SuppressWarnings("unused") // never read: only there to take up space
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
