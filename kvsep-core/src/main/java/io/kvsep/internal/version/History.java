package io.kvsep.internal.version;

import io.kvsep.internal.base.StoreId;
import org.jspecify.annotations.Nullable;

/**
 * What a store has to remember for backups of it and for those it was made of. Immutable.
 *
 * @param droppedDelete the highest sequence number of a delete, or of an entry that had expired,
 *     that compaction has dropped. Never falls. Changes since an earlier number are not all there
 *     any more: nothing tells that those keys are gone
 * @param restored the backup that was restored last, null when there was none
 */
public record History(long droppedDelete, @Nullable Restored restored) {
  static final History NONE = new History(0, null);

  /**
   * A backup that was restored, or is being restored.
   *
   * @param source id of the store of which it is
   * @param since the sequence number there from which it goes on; 0 when it is everything
   * @param until the sequence number there that it reaches
   * @param sequence the last one of this store when the restore was done; whatever was written
   *     later has a higher one. {@link #UNDER_WAY} until then
   */
  public record Restored(StoreId source, long since, long until, long sequence) {
    /** In place of a sequence number, which no store reaches: only a part of it may be there. */
    public static final long UNDER_WAY = Long.MAX_VALUE;

    public boolean isUnderWay() {
      return sequence == UNDER_WAY;
    }
  }

  /**
   * After an edit.
   *
   * @throws IllegalStateException when it does not fit
   */
  History with(VersionEdit edit) {
    Restored latest = edit.restored() == null ? restored : edit.restored();
    boolean possible = latest == null || (latest.since() <= latest.until() && latest.since() >= 0);
    if (!possible) {
      throw new IllegalStateException("an impossible backup: " + latest);
    }
    return new History(Math.max(droppedDelete, edit.droppedDelete()), latest);
  }

  void addTo(VersionEdit snapshot) {
    snapshot.droppedDelete(droppedDelete);
    if (restored != null) {
      snapshot.restored(restored);
    }
  }
}
