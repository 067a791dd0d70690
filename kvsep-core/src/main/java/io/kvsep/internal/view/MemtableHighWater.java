package io.kvsep.internal.view;

import io.kvsep.internal.memtable.EntryTest;
import io.kvsep.internal.memtable.Memtable;
import org.jspecify.annotations.Nullable;

/**
 * How far the memtables were filled at one moment. What came later stands behind the mark in its
 * memtable, or in one that is newer, so it is found without looking at what was there before. Keeps
 * no memory from being given back: it counts only as long as its memtable is in the view.
 */
public record MemtableHighWater(long epoch, Memtable memtable, long mark, long entryCount) {
  public static MemtableHighWater of(ReadState view) {
    Memtable active = view.active();
    // In this order, so that there are never too few entries behind the mark.
    long entries = active.entryCount();
    return new MemtableHighWater(view.markEpoch, active, active.mark(), entries);
  }

  /** No entry before a mark taken earlier in the view has a higher sequence number. */
  public static long newestSequence(ReadState view) {
    long newest = view.version.lastSequence();
    for (Memtable memtable : view.searched) {
      newest = Math.max(newest, memtable.newestSequence());
    }
    return newest;
  }

  /** A mark and a snapshot that sees everything before the mark, and nothing behind it. */
  public record MarkedSnapshot(@Nullable MemtableHighWater mark, SnapshotLease hold) {
    private static final int TRIES = 64;

    /**
     * Between a commit's first entry and its publication there is no such mark; then it is tried
     * again, and done without in the end. Of a long commit there may be entries in tables by then.
     */
    public static MarkedSnapshot take(CurrentReadState live, SnapshotRegistry snapshots) {
      for (int i = 0; i < TRIES; i++) {
        ReadState view = live.get();
        MemtableHighWater mark = of(view);
        long newest = newestSequence(view);
        if (newest <= snapshots.visibleSequence()) {
          return new MarkedSnapshot(mark, snapshots.acquire());
        }
        Thread.onSpinWait();
      }
      return new MarkedSnapshot(null, snapshots.acquire());
    }
  }

  /**
   * The memtable's place in a view; -1 when the mark is no good any more, because the memtable was
   * written out since, or a bulk load came into force.
   */
  public int indexIn(ReadState view) {
    if (view.markEpoch != epoch) {
      return -1;
    }
    for (int i = 0; i < view.searched.length; i++) {
      if (view.searched[i] == memtable) {
        return i;
      }
    }
    return -1;
  }

  /** About how many entries came since; the memtable has this place in the view. */
  public long entriesSince(ReadState view, int index) {
    long entries = memtable.entryCount() - entryCount;
    for (int i = 0; i < index; i++) {
      entries += view.searched[i].entryCount();
    }
    return entries;
  }

  /** Asks about the entries that came since, but for ranges; whether one was a yes. */
  public boolean anySince(ReadState view, int index, EntryTest test) {
    for (int i = 0; i < index; i++) {
      if (view.searched[i].any(test)) {
        return true;
      }
    }
    return memtable.anySince(mark, test);
  }
}
