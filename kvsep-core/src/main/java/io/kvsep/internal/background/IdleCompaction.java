package io.kvsep.internal.background;

import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.IdleCompactionPicker;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.SnapshotRegistry;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What to compact in a store that nobody writes to, for the sake of reads: first levels that are
 * worth bringing down, so that a read looks into fewer tables, and then, when reclaim has nothing
 * to do either, tables that point to values by way of segments that are gone. The next write ends
 * it.
 *
 * <p>{@link #pick} is called by one at a time; the rest is thread safe.
 */
final class IdleCompaction {
  private static final long NEVER_QUIET = -1;

  private static final long UNKNOWN = -1;

  /** After so many ticks of quiet, a minute, the store looks like one that is only read. */
  private static final int LONG_QUIET_TICKS = 600;

  /**
   * From then on even few tables are brought down into many, as far as that rewrites no more than
   * this for each tick of quiet: a mebibyte a second, however often bursts come and however large
   * the store is.
   */
  private static final long QUIET_TICK_BYTES = (1 << 20) / 10;

  private final IdleCompactionPicker picker;
  private final SnapshotRegistry snapshots;
  private final BiFunction<Version, Predicate<TableFile>, @Nullable CompactionPlan> detours;

  /** The level that is being brought down, if any. */
  private int level = IdleCompactionPicker.NO_LEVEL;

  /** What was last written when the store was found quiet; another write ends settling at once. */
  private volatile long quietSequence = NEVER_QUIET;

  /** A store that cannot settle tries again when something was written. */
  private volatile long failedAt = NEVER_QUIET;

  private volatile boolean valuesAtRest;

  /** What may be rewritten for little. */
  private volatile long affordableBytes;

  /** Of the timer: since when the store has been quiet. */
  private long quietTicks;

  /** Of the timer. */
  private long filesMoved;

  /**
   * No newer table is pointed straight at its values, until reclaim moved others: whatever a
   * rewrite comes to, it is not done again and again.
   */
  private volatile long newestTable = UNKNOWN;

  /** Where no table leads astray: as long as it is in force, looking again is no use. */
  private @Nullable Version straight;

  /**
   * @param detours chooses a table whose values have moved, of those that may be rewritten
   */
  IdleCompaction(
      IdleCompactionPicker picker,
      SnapshotRegistry snapshots,
      BiFunction<Version, Predicate<TableFile>, @Nullable CompactionPlan> detours) {
    this.picker = picker;
    this.snapshots = snapshots;
    this.detours = detours;
  }

  /**
   * Called at intervals.
   *
   * @param quiet whether nothing was written for a while
   * @param valuesAtRest whether reclaim does nothing and has nothing to do
   * @param filesMoved files of values that it has moved so far
   */
  void tick(boolean quiet, boolean valuesAtRest, long filesMoved) {
    if (filesMoved != this.filesMoved) {
      this.filesMoved = filesMoved;
      newestTable = UNKNOWN;
    }
    long sequence = quiet ? snapshots.visibleSequence() : NEVER_QUIET;
    quietTicks = quiet && sequence == quietSequence ? quietTicks + 1 : 0;
    affordableBytes = quietTicks < LONG_QUIET_TICKS ? 0 : quietTicks * QUIET_TICK_BYTES;
    // Last: whoever sees it sees the others.
    this.valuesAtRest = valuesAtRest;
    quietSequence = sequence;
  }

  /**
   * The next step, none of whose tables is untouchable; null when there is none.
   *
   * @param spared those of them that stay so: what only they are in the way of is not waited for
   */
  @Nullable CompactionPlan pick(
      Version version, Set<TableFile> untouchable, Set<TableFile> spared) {
    long sequence = snapshots.visibleSequence();
    if (sequence != quietSequence || sequence == failedAt) {
      level = IdleCompactionPicker.NO_LEVEL;
      return null;
    }
    // A level that was begun is emptied, though on the way that looks less and less worth it.
    if (level == IdleCompactionPicker.NO_LEVEL || !picker.mayGoDown(version, level, spared)) {
      level = picker.level(version, untouchable, spared, affordableBytes);
    }
    return level == IdleCompactionPicker.NO_LEVEL
        ? pickDetours(version, untouchable, spared)
        : picker.pick(version, level, untouchable);
  }

  private @Nullable CompactionPlan pickDetours(
      Version version, Set<TableFile> untouchable, Set<TableFile> spared) {
    if (!valuesAtRest || version == straight) {
      return null;
    }
    long newest = newestTable;
    if (newest == UNKNOWN) {
      newest = newestTable(version);
      newestTable = newest;
    }
    long limit = newest;
    boolean[] busy = {false};
    CompactionPlan plan =
        detours.apply(
            version,
            table -> {
              boolean old = table.meta().number() <= limit;
              busy[0] |= old && untouchable.contains(table) && !spared.contains(table);
              return old && !untouchable.contains(table);
            });
    straight = plan == null && !busy[0] ? version : null;
    return plan;
  }

  private static long newestTable(Version version) {
    long newest = 0;
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        newest = Math.max(newest, table.meta().number());
      }
    }
    return newest;
  }

  /** Nobody waits for what failed, and nobody is to hear of it. */
  void failed() {
    failedAt = snapshots.visibleSequence();
  }
}
