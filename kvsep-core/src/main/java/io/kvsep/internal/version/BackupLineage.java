package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.version.VersionEdit.SealedSegment;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a store records about its backups and restores. Its numbers never fall. Immutable.
 *
 * @param droppedDelete the highest sequence number of a delete or expired entry that compaction
 *     dropped. Changes since a lower number are incomplete: nothing shows that those keys are gone
 * @param lostChange the highest sequence number of a change that the log lacks; the existing
 *     segments have all later ones
 * @param syncedLog the log before this position was synced
 */
public record BackupLineage(
    long droppedDelete, long lostChange, LogPosition syncedLog, @Nullable Restored restored) {
  static final BackupLineage NONE = new BackupLineage(0, 0, LogPosition.START, null);

  /**
   * The backup that the store was restored from.
   *
   * @param source id of the store that the backup was made of
   * @param since sequence number there at which it starts; 0 for a full backup
   * @param until sequence number there at which it ends
   * @param sequence this store's last sequence number when the restore was complete; later writes
   *     have higher ones. Or {@link #CHANGED}, or 2^63 - 1 if an earlier version's restore was
   *     interrupted
   */
  public record Restored(StoreId source, long since, long until, long sequence) {
    /** In place of a sequence number, which no store reaches: a keyspace was created since. */
    public static final long CHANGED = Long.MAX_VALUE - 1;
  }

  /**
   * The state after an edit.
   *
   * @param segments before the edit
   * @param replayFrom after the edit, like {@code lastSequence}
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
   * The highest sequence number in segments that the edit removes from the log. Those to be
   * replayed do not count: no caller was promised them.
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

  /** For a store without a record of what its log has lost. */
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
