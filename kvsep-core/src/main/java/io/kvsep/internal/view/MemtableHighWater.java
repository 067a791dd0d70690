package io.kvsep.internal.view;

import io.kvsep.internal.memtable.EntryTest;
import io.kvsep.internal.memtable.Memtable;
import org.jspecify.annotations.Nullable;

/**
 * The fill level of the memtables at one time, to find later entries without a look at earlier
 * ones. Retains no memory: valid only while its memtable is in the read state.
 *
 * @param epoch how often marks had been invalidated; no epoch of readers
 */
public record MemtableHighWater(long epoch, Memtable memtable, long mark, long entryCount) {
  public static MemtableHighWater of(ReadState view) {
    Memtable active = view.active();
    // Before the mark, so that entriesSince is never too low.
    long entries = active.entryCount();
    return new MemtableHighWater(view.markEpoch, active, active.mark(), entries);
  }

  /**
   * The highest sequence number in the read state. If the mark was taken first, no entry before it
   * is higher.
   */
  public static long newestSequence(ReadState view) {
    long newest = view.version.lastSequence();
    for (Memtable memtable : view.searched) {
      newest = Math.max(newest, memtable.newestSequence());
    }
    return newest;
  }

  /** A snapshot that sees exactly the entries before the mark. */
  public record MarkedSnapshot(@Nullable MemtableHighWater mark, SnapshotLease hold) {
    private static final int TRIES = 64;

    /**
     * There is no such mark between the first entry of a commit and its publication, so this
     * retries; without success it returns no mark.
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
   * Index of the memtable in the read state; -1 if it was flushed or a bulk load was installed
   * since.
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

  /**
   * At least the number of entries since the mark.
   *
   * @param index from {@link #indexIn}
   */
  public long entriesSince(ReadState view, int index) {
    long entries = memtable.entryCount() - entryCount;
    for (int i = 0; i < index; i++) {
      entries += view.searched[i].entryCount();
    }
    return entries;
  }

  /** Whether the test holds for any entry since the mark. Ignores range deletes. */
  public boolean anySince(ReadState view, int index, EntryTest test) {
    for (int i = 0; i < index; i++) {
      if (view.searched[i].any(test)) {
        return true;
      }
    }
    return memtable.anySince(mark, test);
  }
}
