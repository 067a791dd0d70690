package io.kvsep.internal.engine;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.compaction.CoveredTables;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Drops what nobody needs any more, without reading it: tables of which range deletes hide
 * everything, and segments to which nothing points. Behind each flush and compaction, when
 * snapshots were released that held something, and again where it has failed.
 *
 * <p>Thread safe, but for {@link #tick}.
 */
final class Dropping {
  private final VersionSet versions;
  private final LiveView live;
  private final SnapshotRegistry snapshots;
  private final FailureState failure;
  private final RunningCompactions running;
  private final SparedFiles spared;
  private final DeadSegments deadSegments;
  private final Consumer<RuntimeException> unreadable;

  /**
   * Whether covered tables stay only because of snapshots, and how many of these had been released
   * when that was found. A store that was just opened has not looked yet.
   */
  private volatile boolean coveredAreHeld = true;

  private volatile long releasedAtLook = -1;

  /** Whether something stayed because it could not be dropped. */
  private volatile boolean failed;

  /** Whether that was said, and nothing was dropped since. */
  private volatile boolean warned;

  /**
   * @param unreadable is told where a table cannot be read to see what it covers
   */
  Dropping(
      VersionSet versions,
      LiveView live,
      SnapshotRegistry snapshots,
      FailureState failure,
      RunningCompactions running,
      SparedFiles spared,
      DeadSegments deadSegments,
      Consumer<RuntimeException> unreadable) {
    this.versions = versions;
    this.live = live;
    this.snapshots = snapshots;
    this.failure = failure;
    this.running = running;
    this.spared = spared;
    this.deadSegments = deadSegments;
    this.unreadable = unreadable;
  }

  boolean hasFailed() {
    return failed;
  }

  /** Looks whether there may be something now that there was not before. */
  void tick() {
    boolean released = coveredAreHeld && snapshots.released() != releasedAtLook;
    if ((released || failed) && !failure.hasFailed()) {
      // Before the try: another one may fail beside it.
      failed = false;
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
      dropCoveredTables(besidePause);
      deadSegments.remove();
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
    // Whatever is not busy then is in the version that is current then.
    List<CoveredTables.Covered> covered = running.takeCovered(besidePause, this::coveredTables);
    if (covered.isEmpty()) {
      return;
    }
    try {
      VersionEdit edit = new VersionEdit();
      for (CoveredTables.Covered one : covered) {
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

  private List<CoveredTables.Covered> coveredTables(Set<TableFile> busy) {
    Version version = versions.retainCurrent();
    try {
      releasedAtLook = snapshots.released();
      CoveredTables.Found found =
          CoveredTables.find(
              version, snapshots.boundaries(), busy, /* unreadable= */ spared.tablesIn(version));
      coveredAreHeld = found.held();
      return found.tables();
    } catch (CorruptionException | IncompatibleFormatException e) {
      // A table with range deletes is damaged. The next look does without them.
      spared.spare(e);
      return List.of();
    } catch (RuntimeException e) {
      // Such a table cannot be read: reads of its keys say so, and so does whoever compacts it. The
      // flush or compaction that brought us here is not to blame.
      unreadable.accept(e);
      return List.of();
    } finally {
      version.release();
    }
  }
}
