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
 * Chooses compactions that speed up reads while nothing is written. First it merges levels down, so
 * that a read searches fewer tables. When reclaim is idle too, it rewrites tables whose pointers
 * name segments that no longer exist. The next write ends it.
 *
 * <p>Only one thread at a time calls {@link #pick}; the rest is thread safe.
 */
final class IdleCompaction {
  private static final long NEVER_QUIET = -1;

  private static final long UNKNOWN = -1;

  /** A minute; then the store is taken to be read only. */
  private static final int LONG_QUIET_TICKS = 600;

  /**
   * From then on even few tables are merged into many, as long as that rewrites at most this much
   * per quiet tick: 1 MiB/s, whatever the size of the store and the frequency of bursts.
   */
  private static final long QUIET_TICK_BYTES = (1 << 20) / 10;

  private final IdleCompactionPicker picker;
  private final SnapshotRegistry snapshots;
  private final BiFunction<Version, Predicate<TableFile>, @Nullable CompactionPlan> detours;

  /** The level that is being emptied, if any. */
  private int level = IdleCompactionPicker.NO_LEVEL;

  /** Last sequence when the store was found quiet. A later write ends idle compaction at once. */
  private volatile long quietSequence = NEVER_QUIET;

  /** Sequence at the last failure: there is no retry before the next write. */
  private volatile long failedAt = NEVER_QUIET;

  private volatile boolean valuesAtRest;

  /** Bytes that may be rewritten even if little is merged down. */
  private volatile long affordableBytes;

  /** Number of consecutive quiet ticks. Accessed only by the timer. */
  private long quietTicks;

  /** Accessed only by the timer. */
  private long filesMoved;

  /**
   * Tables with larger numbers are not rewritten for direct pointers until reclaim moves more
   * files, so that no table is rewritten again and again.
   */
  private volatile long newestTable = UNKNOWN;

  /** Version without indirect pointers: while it is current, another search is no use. */
  private @Nullable Version straight;

  /**
   * @param detours chooses, among the tables that may be rewritten, one whose values have moved
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
   * Called by the timer.
   *
   * @param quiet whether nothing was written for a while
   * @param valuesAtRest whether reclaim is idle
   * @param filesMoved files of values that reclaim has moved so far
   */
  void tick(boolean quiet, boolean valuesAtRest, long filesMoved) {
    if (filesMoved != this.filesMoved) {
      this.filesMoved = filesMoved;
      newestTable = UNKNOWN;
    }
    long sequence = quiet ? snapshots.visibleSequence() : NEVER_QUIET;
    quietTicks = quiet && sequence == quietSequence ? quietTicks + 1 : 0;
    affordableBytes = quietTicks < LONG_QUIET_TICKS ? 0 : quietTicks * QUIET_TICK_BYTES;
    // Last: a thread that sees it sees the others.
    this.valuesAtRest = valuesAtRest;
    quietSequence = sequence;
  }

  /**
   * The next step, null if there is none.
   *
   * @param untouchable tables it must not use
   * @param spared those of them that are quarantined; the choice does not wait for them
   */
  @Nullable CompactionPlan pick(
      Version version, Set<TableFile> untouchable, Set<TableFile> spared) {
    long sequence = snapshots.visibleSequence();
    if (sequence != quietSequence || sequence == failedAt) {
      level = IdleCompactionPicker.NO_LEVEL;
      return null;
    }
    // A level once begun is emptied, though it looks less and less worthwhile.
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

  /** Nothing waits for idle compaction, so the error is not reported. */
  void failed() {
    failedAt = snapshots.visibleSequence();
  }
}
