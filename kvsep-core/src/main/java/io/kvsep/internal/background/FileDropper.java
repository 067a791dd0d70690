package io.kvsep.internal.background;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.Warnings;
import io.kvsep.internal.compaction.FullyDeletedTables;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.SnapshotRegistry;
import java.util.List;
import java.util.Set;

/**
 * Drops what nobody needs any more, without reading it: tables of which range deletes hide
 * everything, and segments to which nothing points. Behind each flush and compaction, when
 * snapshots were released that held something, and again where it has failed.
 *
 * <p>Thread safe, but for {@link #tick}.
 */
final class FileDropper {
  private final VersionSet versions;
  private final CurrentReadState live;
  private final SnapshotRegistry snapshots;
  private final FailureState failure;
  private final RunningCompactions running;
  private final FileQuarantine spared;
  private final DeadSegments deadSegments;

  /**
   * Whether covered tables stay only because of snapshots, and how many of these had been released
   * when that was found. A store that was just opened has not looked yet.
   */
  private volatile boolean coveredAreHeld = true;

  private volatile long releasedAtLook = -1;

  /** Whether something stayed because it could not be looked at or dropped. */
  private volatile boolean failed;

  /** Whether nobody has looked since that was wanted, as while compactions are paused. */
  private volatile boolean due;

  /** Whether that was said, and nothing was dropped since. */
  private volatile boolean warned;

  FileDropper(
      VersionSet versions,
      CurrentReadState live,
      SnapshotRegistry snapshots,
      FailureState failure,
      RunningCompactions running,
      FileQuarantine spared,
      DeadSegments deadSegments) {
    this.versions = versions;
    this.live = live;
    this.snapshots = snapshots;
    this.failure = failure;
    this.running = running;
    this.spared = spared;
    this.deadSegments = deadSegments;
  }

  boolean hasFailed() {
    return failed;
  }

  /** Looks whether there may be something now that there was not before. */
  void tick() {
    boolean released = coveredAreHeld && snapshots.released() != releasedAtLook;
    if ((released || failed || due) && !failure.hasFailed()) {
      run(/* besidePause= */ false);
    }
  }

  /**
   * Drops what it finds. The flush or compaction that brought us here is in force, and has not
   * failed if this does: that only takes space, is said once, and is tried again at a tick.
   *
   * @param besidePause whether the caller is one for whom compactions are paused, or a compaction
   */
  void run(boolean besidePause) {
    try {
      try {
        dropCoveredTables(besidePause);
      } finally {
        deadSegments.remove();
      }
      warned = false;
    } catch (StoreFailedException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      failed = true;
      warn(e);
    }
  }

  private void warn(Throwable cause) {
    // Where there is no memory for it, or a handler throws, it is said the next time.
    warned =
        warned
            || Warnings.tell(
                "files that nobody needs stay for now, as they cannot be dropped: ", cause);
  }

  private void dropCoveredTables(boolean besidePause) {
    due = true;
    // Whatever is not busy then is in the version that is current then.
    List<FullyDeletedTables.Covered> covered =
        running.takeCovered(besidePause, this::coveredTables);
    if (covered.isEmpty()) {
      return;
    }
    try {
      VersionEdit edit = new VersionEdit();
      for (FullyDeletedTables.Covered one : covered) {
        TableMeta table = one.table().meta();
        edit.removeTable(one.level(), table.number());
        if (table.rangeCount() > 0) {
          // Its own ranges may be what covers it, and nothing else tells of them.
          edit.droppedDelete(table.largestSequence());
        }
      }
      failure.guard(() -> versions.apply(edit));
    } finally {
      running.releaseCovered(covered);
    }
    live.installVersion(null);
  }

  private List<FullyDeletedTables.Covered> coveredTables(Set<TableFile> busy) {
    Version version = versions.retainCurrent();
    try {
      // Before the look: another one may fail beside it. Only here, since while compactions are
      // paused there is none.
      failed = false;
      due = false;
      releasedAtLook = snapshots.released();
      FullyDeletedTables.Found found =
          FullyDeletedTables.find(
              version, snapshots.boundaries(), busy, /* unreadable= */ spared.tablesIn(version));
      coveredAreHeld = found.held();
      return found.tables();
    } catch (CorruptionException | IncompatibleFormatException e) {
      // A table with range deletes is damaged. The next look does without them.
      failed = true;
      spared.spare(e);
      return List.of();
    } finally {
      version.release();
    }
  }
}
