package io.kvsep.internal.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import org.jspecify.annotations.Nullable;

/**
 * Divides memory among the memtables and bulk loads of one or more stores. Each store may always
 * hold the least amount. Beyond that a store takes, each time, at most half of what no store holds
 * and none is due, so that something is left for the next one; a store without others takes all. It
 * counts what is granted: the memory is allocated by the caller. Thread safe.
 */
public final class MemtableBudget {
  private final long bytesMax;
  private final long leastBytes;

  @GuardedBy("this")
  private int stores;

  /**
   * Memory of bulk loads, and for each store that of its memtables, at least what it may always
   * hold.
   */
  @GuardedBy("this")
  private long spokenFor;

  /** Number of times that a store got less than it asked for, or that all held too much. */
  private volatile long shortages;

  /**
   * @param bytesMax most that all stores hold together, unless more stores than it suffices for
   *     hold the least amount
   * @param leastBytes what a store may always hold
   */
  public MemtableBudget(long bytesMax, long leastBytes) {
    this.bytesMax = bytesMax;
    this.leastBytes = leastBytes;
  }

  /** The share of one more store; it must be closed. */
  public synchronized Share join() {
    stores++;
    spokenFor += leastBytes;
    return new Share();
  }

  /** Granted memory. */
  public static final class Grant {
    private final Share share;
    private final long bytes;
    private final boolean forLoad;

    /** Guarded by the budget. */
    private boolean released;

    private Grant(Share share, long bytes, boolean forLoad) {
      this.share = share;
      this.bytes = bytes;
      this.forLoad = forLoad;
    }

    public long bytes() {
      return bytes;
    }

    /** Gives the memory back; further calls have no effect. */
    public void release() {
      share.release(this);
    }
  }

  /** What one store holds. */
  public final class Share implements AutoCloseable {
    /** By memtables. Guarded by the budget. */
    private long held;

    private boolean closed;

    /** Value of {@link #shortages} at the last look. Used by one thread. */
    private long shortagesSeen;

    private Share() {}

    /**
     * A first amount: all that is wanted if there is no other store, little if there are many.
     *
     * @param bytesWanted upper limit
     */
    public long firstBytes(long bytesWanted) {
      synchronized (MemtableBudget.this) {
        long part = stores == 1 ? bytesWanted : (bytesMax - spokenFor) / (2L * stores);
        return Math.min(bytesWanted, Math.max(leastBytes, part));
      }
    }

    /**
     * Grants at most {@code bytesWanted} for a memtable; null if that would be less than the least
     * amount.
     */
    public @Nullable Grant take(long bytesWanted) {
      synchronized (MemtableBudget.this) {
        long bytes = Math.min(bytesWanted, Math.max(0, leastBytes - held) + lendable());
        noteShortage(bytes < bytesWanted || spokenFor > bytesMax);
        return bytes < Math.min(bytesWanted, leastBytes) ? null : granted(bytes);
      }
    }

    /** As {@link #take}, but grants the least amount even if that exceeds the budget. */
    public Grant takeAnyway(long bytesWanted) {
      synchronized (MemtableBudget.this) {
        Grant grant = take(bytesWanted);
        return grant == null ? granted(Math.min(bytesWanted, leastBytes)) : grant;
      }
    }

    /** Grants memory for a bulk load, the least amount even if that exceeds the budget. */
    public Grant takeForLoad(long bytesWanted) {
      synchronized (MemtableBudget.this) {
        long bytes = Math.min(bytesWanted, Math.max(leastBytes, lendable()));
        noteShortage(bytes < bytesWanted);
        spokenFor += bytes;
        return new Grant(this, bytes, /* forLoad= */ true);
      }
    }

    /**
     * Whether memory was short since the last call, and this store holds more than it may always
     * hold. Called by one thread.
     */
    public boolean isWantedElsewhere() {
      long now = shortages;
      boolean shortage = now != shortagesSeen;
      shortagesSeen = now;
      synchronized (MemtableBudget.this) {
        return shortage && stores > 1 && held > leastBytes;
      }
    }

    /** Gives back everything. */
    @Override
    public void close() {
      synchronized (MemtableBudget.this) {
        if (!closed) {
          hold(0);
          closed = true;
          stores--;
          spokenFor -= leastBytes;
        }
      }
    }

    @GuardedBy("MemtableBudget.this")
    private Grant granted(long bytes) {
      hold(held + bytes);
      return new Grant(this, bytes, /* forLoad= */ false);
    }

    private void release(Grant grant) {
      synchronized (MemtableBudget.this) {
        if (grant.released) {
          return;
        }
        grant.released = true;
        if (grant.forLoad) {
          spokenFor -= grant.bytes;
        } else if (!closed) {
          hold(held - grant.bytes);
        }
      }
    }

    @GuardedBy("MemtableBudget.this")
    private void hold(long bytes) {
      spokenFor += Math.max(bytes, leastBytes) - Math.max(held, leastBytes);
      held = bytes;
    }
  }

  /** What a store may take beyond what it may always hold. */
  @GuardedBy("this")
  private long lendable() {
    long free = Math.max(0, bytesMax - spokenFor);
    return (stores == 1 ? free : free / 2) & -8;
  }

  @GuardedBy("this")
  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock
  private void noteShortage(boolean isShort) {
    if (isShort) {
      shortages++;
    }
  }
}
