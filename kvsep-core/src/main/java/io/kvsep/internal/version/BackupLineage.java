package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.version.VersionEdit.SealedSegment;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a store has to remember of its log, for backups of it and for those it was made of.
 * Immutable.
 *
 * @param droppedDelete the highest sequence number of a delete, or of an entry that had expired,
 *     that compaction has dropped. Never falls. Changes since an earlier number are not all there
 *     any more: nothing tells that those keys are gone
 * @param lostChange the highest sequence number of a change that the log does not have any more, or
 *     never had. Never falls. All with higher ones are in the segments of the log that there are
 * @param syncedLog everything of the log in front of it was synced. Never falls
 * @param restored the backup that was restored last, null when there was none
 */
public record BackupLineage(
    long droppedDelete, long lostChange, LogPosition syncedLog, @Nullable Restored restored) {
  static final BackupLineage NONE = new BackupLineage(0, 0, LogPosition.START, null);

  /**
   * A backup that was restored, or is being restored.
   *
   * @param source id of the store of which it is
   * @param since the sequence number there from which it goes on; 0 when it is everything
   * @param until the sequence number there that it reaches
   * @param sequence the last one of this store when the restore was done; whatever was written
   *     later has a higher one. {@link #UNDER_WAY} until then, or {@link #MIXED}
   */
  public record Restored(StoreId source, long since, long until, long sequence) {
    /** In place of a sequence number, which no store reaches: only a part of it may be there. */
    public static final long UNDER_WAY = Long.MAX_VALUE;

    /** Likewise: and others may have written before it was done. */
    public static final long MIXED = Long.MAX_VALUE - 1;

    public boolean isUnderWay() {
      return sequence == UNDER_WAY;
    }
  }

  /**
   * After an edit.
   *
   * @param segments those there were before
   * @param replayFrom where recovery begins after it
   * @param lastSequence the highest number that tables cover after it
   * @throws IllegalStateException when it does not fit
   */
  BackupLineage with(
      VersionEdit edit,
      Map<Long, SegmentState> segments,
      LogPosition replayFrom,
      long lastSequence) {
    Restored latest = edit.restored() == null ? restored : edit.restored();
    boolean possible = latest == null || (latest.since() <= latest.until() && latest.since() >= 0);
    if (!possible) {
      throw new IllegalStateException("an impossible backup: " + latest);
    }
    return new BackupLineage(
        Math.max(droppedDelete, edit.droppedDelete()),
        Math.max(
            Math.max(lostChange, edit.lostChange().orElse(0)),
            Math.min(lastSequence, givenUp(edit, segments, replayFrom))),
        LogPosition.later(syncedLog, edit.syncedLog()),
        latest);
  }

  /**
   * The highest number in segments that an edit takes out of the log. What would have been replayed
   * was never promised to anybody when it goes.
   */
  private static long givenUp(
      VersionEdit edit, Map<Long, SegmentState> segments, LogPosition replayFrom) {
    Set<Long> leaving = new HashSet<>(edit.removedSegments());
    edit.relocations().forEach(relocation -> leaving.add(relocation.segment()));
    long highest = 0;
    for (long id : leaving) {
      SegmentState state = segments.get(id);
      if (state != null && state.isLog() && state.isSealed() && isBefore(id, replayFrom)) {
        highest = Math.max(highest, state.lastSequence());
      }
    }
    for (SealedSegment sealed : edit.sealedSegments()) {
      if (leaving.contains(sealed.id()) && isBefore(sealed.id(), replayFrom)) {
        highest = Math.max(highest, sealed.lastSequence());
      }
    }
    return highest;
  }

  /** The same of a store of which nobody has kept account of what its log has lost. */
  BackupLineage withLost(long sequence) {
    return new BackupLineage(droppedDelete, Math.max(lostChange, sequence), syncedLog, restored);
  }

  private static boolean isBefore(long segment, LogPosition replayFrom) {
    return segment < replayFrom.segment();
  }

  void addTo(VersionEdit snapshot) {
    snapshot.droppedDelete(droppedDelete);
    snapshot.lostChange(lostChange);
    snapshot.syncedLog(syncedLog);
    if (restored != null) {
      snapshot.restored(restored);
    }
  }
}
