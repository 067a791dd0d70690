package io.kvsep.internal.view;

import io.kvsep.internal.memtable.EntryPredicate;
import io.kvsep.internal.memtable.Memtable;
import org.jspecify.annotations.Nullable;

/**
 * The fill level of the memtables at one time, to find later entries without a look at earlier
 * ones. Retains no memory: valid only while its memtable is in the read state.
 *
 * @param generation how often marks had been invalidated
 */
public record MemtableHighWater(long generation, Memtable memtable, long mark, long entryCount) {
  public static MemtableHighWater of(ReadState readState) {
    Memtable active = readState.active();
    // Before the mark, so that entriesSince is never too low.
    long entries = active.entryCount();
    return new MemtableHighWater(readState.markGeneration, active, active.mark(), entries);
  }

  /**
   * The highest sequence number in the read state. If the mark was taken first, no entry before it
   * is higher.
   */
  public static long newestSequence(ReadState readState) {
    long newest = readState.version.lastSequence();
    for (Memtable memtable : readState.searched) {
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
    public static MarkedSnapshot take(CurrentReadState currentState, SnapshotRegistry snapshots) {
      for (int i = 0; i < TRIES; i++) {
        ReadState readState = currentState.get();
        MemtableHighWater mark = of(readState);
        long newest = newestSequence(readState);
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
  public int indexIn(ReadState readState) {
    if (readState.markGeneration != generation) {
      return -1;
    }
    for (int i = 0; i < readState.searched.length; i++) {
      if (readState.searched[i] == memtable) {
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
  public long entriesSince(ReadState readState, int index) {
    long entries = memtable.entryCount() - entryCount;
    for (int i = 0; i < index; i++) {
      entries += readState.searched[i].entryCount();
    }
    return entries;
  }

  /** Whether the test holds for any entry since the mark. Ignores range deletes. */
  public boolean anySince(ReadState readState, int index, EntryPredicate test) {
    for (int i = 0; i < index; i++) {
      if (readState.searched[i].any(test)) {
        return true;
      }
    }
    return memtable.anySince(mark, test);
  }
}
