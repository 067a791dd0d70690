package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Level 0 beside tables that are spared because they cannot be read, in it or below: what overlaps
 * them has to stay, what does not can go down.
 */
public final class LevelZeroBeside {
  private LevelZeroBeside() {}

  /** Whether no table of level 0 can go down without {@code spared} ones. */
  public static boolean isStuck(CompactionPicker picker, Version version, Set<TableFile> spared) {
    if (spared.isEmpty() || version.tables(0).length == 0) {
      return false;
    }
    int base = picker.baseLevel(version);
    return picker.pickLevelZero(version, base, spared) == null
        && picker.pickPartOfLevelZero(version, base, spared) == null;
  }

  /**
   * What of a level 0 that is due can go down; null when nothing can, or while one of the {@code
   * busy} lies there: two parts of it at once might write tables into each other's gaps.
   */
  public static @Nullable CompactionPlan pick(
      CompactionPicker picker,
      CompactionConfig config,
      Version version,
      Set<TableFile> busy,
      Set<TableFile> spared) {
    TableFile[] tables = version.tables(0);
    if (spared.isEmpty()
        || tables.length < config.levelZeroTables()
        || Arrays.stream(tables).anyMatch(busy::contains)) {
      return null;
    }
    Set<TableFile> untouchable = new HashSet<>(busy);
    untouchable.addAll(spared);
    return picker.pickPartOfLevelZero(version, picker.baseLevel(version), untouchable);
  }
}
