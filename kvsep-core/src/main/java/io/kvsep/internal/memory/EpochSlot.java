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
  private static final VarHandle EPOCH = epochHandle();

  /** Epoch the reader inside entered in, {@link #IDLE} when there is none. */
  @SuppressWarnings("unused") // reached through EPOCH only
  private volatile long epoch;

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

  boolean tryEnter(long now, long threadId) {
    // The compare-and-set is also the full fence between announcing the epoch and reading anything
    // that the epoch protects.
    if (epoch == IDLE && EPOCH.compareAndSet(this, IDLE, now)) {
      ownerId = threadId;
      return true;
    }
    return false;
  }

  void leave() {
    ownerId = NOBODY;
    EPOCH.setRelease(this, IDLE);
  }

  long epoch() {
    return epoch;
  }

  boolean isOwnedBy(long threadId) {
    return epoch != IDLE && ownerId == threadId;
  }

  void free() {
    context.free();
  }

  private static VarHandle epochHandle() {
    try {
      return MethodHandles.lookup().findVarHandle(EpochSlot.class, "epoch", long.class);
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
