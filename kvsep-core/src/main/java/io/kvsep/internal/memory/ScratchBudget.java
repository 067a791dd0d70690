package io.kvsep.internal.memory;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bounds the scratch space of slots, whose number is the maximum of concurrent calls so far: the
 * total that running calls use, and the total that slots keep between calls. A call that needs no
 * more than its slot keeps touches no shared state. Thread safe; a {@link Share} is used only by
 * the thread inside the slot.
 */
public final class ScratchBudget {
  private final long takenBytesMax;
  private final long keptBytesMax;
  private final long slotBytesMax;
  private final AtomicLong taken = new AtomicLong();
  private final AtomicLong kept = new AtomicLong();

  /**
   * @param takenBytesMax for all running calls
   * @param keptBytesMax for all slots between calls
   * @param slotBytesMax for one slot between calls
   */
  public ScratchBudget(long takenBytesMax, long keptBytesMax, long slotBytesMax) {
    this.takenBytesMax = takenBytesMax;
    this.keptBytesMax = keptBytesMax;
    this.slotBytesMax = slotBytesMax;
  }

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

  public final class Share {
    private long takenBytes;
    private long keptBytes;

    private Share() {}

    /** Reserves {@code bytes} in total until {@link #release}; returns whether they fit. */
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
     * Lets the slot keep what the call needed, if that is little. Returns false if other slots,
     * possibly unused ones, keep too much.
     */
    public boolean keep(long heldBytes) {
      // For a next call as long as this one; at least what is held.
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

    /**
     * Whether the call reserved nothing and may keep everything held, so that nothing must be
     * ended.
     */
    public boolean isWithinKept(long heldBytes) {
      return takenBytes == 0 && heldBytes <= keptBytes;
    }

    /** Bytes that may be held between calls. */
    public long keptBytes() {
      return keptBytes;
    }

    /** Ends the call, which now holds at most {@link #keptBytes}. */
    public void release() {
      long bytes = takenBytes;
      if (bytes > 0) {
        takenBytes = 0;
        taken.addAndGet(-bytes);
      }
    }

    /** Gives up the kept bytes; the slot must hold nothing. */
    public void giveBack() {
      long bytes = keptBytes;
      if (bytes > 0) {
        keptBytes = 0;
        kept.addAndGet(-bytes);
      }
    }
  }
}
