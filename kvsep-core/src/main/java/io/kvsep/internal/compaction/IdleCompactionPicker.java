package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Chooses compactions that are not due but save reads a search, for a quiet store. They rewrite
 * little and are short, because a new write may wait for them. Pure: the result depends only on the
 * arguments.
 */
public final class IdleCompactionPicker {
  private static final int LAST = Version.LEVELS - 1;

  /** Entries go down if that rewrites at most this many times as much. */
  private static final int REWRITE_FACTOR = CompactionConfig.LEVEL_MULTIPLIER;

  /** Or at most 1/n of the entries and their values in the log together. */
  private static final int VALUES_PART = 2;

  private final CompactionPicker picker;

  public IdleCompactionPicker(CompactionPicker picker) {
    this.picker = picker;
  }

  /** The next step, null if there is none. */
  public @Nullable CompactionPlan pick(Version version, Set<TableFile> busy) {
    CompactionPlan plan = pickLevelZero(version, busy);
    for (int level = 1; plan == null && level < LAST; level++) {
      CompactionPlan table = picker.pickForLength(version, level, busy);
      plan = table != null && isWorthIt(table) && !isLong(table) ? table : null;
    }
    return plan;
  }

  private @Nullable CompactionPlan pickLevelZero(Version version, Set<TableFile> busy) {
    int tables = version.tables(0).length;
    int next = CompactionPicker.nextHeld(version, 0);
    if (tables == 0 || (tables == 1 && version.tables(next).length == 0)) {
      return null;
    }
    CompactionPlan plan = picker.pickLevelZero(version, next, busy, /* mayMove= */ true);
    if (plan == null || !(isWorthIt(plan) || goesDown(version, next))) {
      return null;
    }
    return isLong(plan)
        ? picker.pickLevelZero(
            version, picker.baseLevel(version, Set.of()), busy, /* mayMove= */ true)
        : plan;
  }

  private static boolean isWorthIt(CompactionPlan plan) {
    long valueBytes = 0;
    for (TableFile input : plan.inputs()) {
      valueBytes += input.valueBytes();
    }
    long bytes = CompactionPicker.bytes(plan.inputs());
    return isWorthIt(bytes, valueBytes, CompactionPicker.bytes(plan.overlaps()));
  }

  /** Whether a level is worth bringing down, so that what is merged into it goes further. */
  private static boolean goesDown(Version version, int level) {
    long below = level < LAST ? version.levelBytes(CompactionPicker.nextHeld(version, level)) : 0;
    return below > 0
        && isWorthIt(version.levelBytes(level), version.sums(level).valueBytes(), below);
  }

  private static boolean isWorthIt(long bytes, long valueBytes, long rewritten) {
    return rewritten <= Math.max(REWRITE_FACTOR * bytes, (bytes + valueBytes) / VALUES_PART);
  }

  private boolean isLong(CompactionPlan plan) {
    return plan.overlaps().size() > 1 && picker.isLong(plan.overlaps());
  }
}
