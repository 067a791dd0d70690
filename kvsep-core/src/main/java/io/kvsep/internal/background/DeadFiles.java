package io.kvsep.internal.background;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.Warnings;
import io.kvsep.internal.compaction.FullyDeletedTables;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.PageFaults;
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
 * Takes files out of the manifest unread: tables that range deletes hide entirely, and segments to
 * which nothing points. Runs after each flush and compaction, after the release of snapshots that
 * held such tables, and again after a failure.
 *
 * <p>Thread safe, except for {@link #tick}.
 */
final class DeadFiles {
  private final VersionSet versions;
  private final CurrentReadState currentState;
  private final SnapshotRegistry snapshots;
  private final FailureState failure;
  private final RunningCompactions running;
  private final FileQuarantine quarantine;
  private final DeadSegments deadSegments;

  /**
   * Whether only snapshots keep fully deleted tables, and how many had been released when that was
   * found. True before the first pass.
   */
  private volatile boolean coveredAreHeld = true;

  private volatile long releasedAtLook = -1;

  /** Whether the last pass could not inspect or drop something. */
  private volatile boolean failed;

  /** Whether a warning was given since the last success. */
  private volatile boolean warned;

  DeadFiles(
      VersionSet versions,
      CurrentReadState currentState,
      SnapshotRegistry snapshots,
      FailureState failure,
      RunningCompactions running,
      FileQuarantine quarantine,
      DeadSegments deadSegments) {
    this.versions = versions;
    this.currentState = currentState;
    this.snapshots = snapshots;
    this.failure = failure;
    this.running = running;
    this.quarantine = quarantine;
    this.deadSegments = deadSegments;
  }

  boolean hasFailed() {
    return failed;
  }

  /** Runs a pass if there may be something new to drop. */
  void tick() {
    boolean released = coveredAreHeld && snapshots.released() != releasedAtLook;
    if ((released || failed) && !failure.hasFailed()) {
      run();
    }
  }

  /**
   * Runs a pass. A failure costs only space and does not fail the caller's flush or compaction. It
   * is reported once; the timer retries.
   */
  void run() {
    try {
      try {
        dropCoveredTables();
      } finally {
        deadSegments.remove();
      }
      warned = false;
    } catch (StoreFailedException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      PageFaults.throwOther(e);
      failed = true;
      warn(e);
    }
  }

  private void warn(Throwable cause) {
    // The next pass repeats a warning that fails, for want of memory or in a handler.
    warned =
        warned
            || Warnings.tell(
                "obsolete files stay for now, because they cannot be dropped: ", cause);
  }

  private void dropCoveredTables() {
    boolean[] dropped = new boolean[1];
    running.beside(
        plans -> {
          VersionEdit edit = new VersionEdit();
          for (FullyDeletedTables.Covered one : coveredTables(RunningCompactions.tables(plans))) {
            TableMeta table = one.table().meta();
            edit.removeTable(one.level(), table.number());
            if (table.rangeCount() > 0) {
              // Its own range deletes may be what covers it, and no other file records them.
              edit.droppedDelete(table.largestSequence());
            }
            dropped[0] = true;
          }
          if (dropped[0]) {
            failure.guard(() -> versions.apply(edit));
          }
        });
    if (dropped[0]) {
      currentState.installVersion(null);
    }
  }

  private List<FullyDeletedTables.Covered> coveredTables(Set<TableFile> busy) {
    Version version = versions.retainCurrent();
    try {
      // Before the search, as a concurrent pass may fail.
      failed = false;
      releasedAtLook = snapshots.released();
      FullyDeletedTables.Found found =
          FullyDeletedTables.find(
              version,
              snapshots.boundaries(),
              busy,
              /* unreadable= */ quarantine.tablesIn(version));
      coveredAreHeld = found.held();
      return found.tables();
    } catch (CorruptionException | IncompatibleFormatException e) {
      // A table with range deletes is damaged. The next pass skips it.
      failed = true;
      quarantine.addDamaged(e, file -> true);
      return List.of();
    } finally {
      version.release();
    }
  }
}
