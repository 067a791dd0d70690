package io.kvsep.internal.memory;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the scratch space of slots, of which there are as many as there ever were calls at once:
 * what calls under way take together, and apart from that what slots keep from one call to the
 * next. A call that needs no more than its slot has kept touches nothing shared. Thread safe; a
 * {@link Share} is for whoever is inside the slot.
 */
public final class ScratchBudget {
  private final long takenBytesMax;
  private final long keptBytesMax;
  private final long slotBytesMax;
  private final AtomicLong taken = new AtomicLong();
  private final AtomicLong kept = new AtomicLong();

  /**
   * @param takenBytesMax of all calls under way
   * @param keptBytesMax of all slots between their calls
   * @param slotBytesMax of one slot between its calls
   */
  public ScratchBudget(long takenBytesMax, long keptBytesMax, long slotBytesMax) {
    this.takenBytesMax = takenBytesMax;
    this.keptBytesMax = keptBytesMax;
    this.slotBytesMax = slotBytesMax;
  }

  /** Of a slot that has nothing yet. */
  public Share newShare() {
    return new Share();
  }

  private static boolean add(AtomicLong sum, long bytes, long most) {
    long now = sum.get();
    while (bytes <= most - now) {
      if (sum.compareAndSet(now, now + bytes)) {
        return true;
      }
      now = sum.get();
    }
    return false;
  }

  /** What of the budget one slot has. */
  public final class Share {
    private long takenBytes;
    private long keptBytes;

    private Share() {}

    /** Whether the call may hold so much, all in all; it then counts until {@link #release}. */
    public boolean take(long bytes) {
      if (bytes <= keptBytes || bytes <= takenBytes) {
        return true;
      }
      if (!add(taken, bytes - takenBytes, takenBytesMax)) {
        return false;
      }
      takenBytes = bytes;
      return true;
    }

    /**
     * Has the slot keep what a call needed, if that is little. False when others keep too much for
     * that, some of whom may not need it any more.
     */
    public boolean keep(long heldBytes) {
      // What the next call takes, if it is as long as this one; else at least what is there.
      long wanted = takenBytes <= slotBytesMax ? Math.max(takenBytes, heldBytes) : heldBytes;
      if (wanted <= keptBytes || wanted > slotBytesMax) {
        return true;
      }
      if (!add(kept, wanted - keptBytes, keptBytesMax)) {
        return false;
      }
      keptBytes = wanted;
      return true;
    }

    /** Whether the call took nothing, and what is held may stay: then there is nothing to end. */
    public boolean isWithinKept(long heldBytes) {
      return takenBytes == 0 && heldBytes <= keptBytes;
    }

    /** How much may be held between two calls. */
    public long keptBytes() {
      return keptBytes;
    }

    /** Ends the call, which holds no more than {@link #keptBytes} now. */
    public void release() {
      long bytes = takenBytes;
      if (bytes > 0) {
        takenBytes = 0;
        taken.addAndGet(-bytes);
      }
    }

    /** The slot keeps nothing any more; it holds nothing. */
    public void giveBack() {
      long bytes = keptBytes;
      if (bytes > 0) {
        keptBytes = 0;
        kept.addAndGet(-bytes);
      }
    }
  }
}
