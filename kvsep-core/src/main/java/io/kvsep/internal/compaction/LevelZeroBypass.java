package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Compacts level 0 around quarantined tables in it or below: only tables that overlap them stay.
 */
public final class LevelZeroBypass {
  private LevelZeroBypass() {}

  /** Whether no table of level 0 can go down without {@code spared} ones. */
  public static boolean isStuck(CompactionPicker picker, Version version, Set<TableFile> spared) {
    if (spared.isEmpty() || version.tables(0).length == 0) {
      return false;
    }
    return picker.pickPartOfLevelZero(version, picker.baseLevel(version), spared) == null;
  }

  /**
   * Like {@link CompactionPicker#pick}, but level 0 may go down in parts: before other levels if
   * urgent, after them if due.
   *
   * @param busy tables of running compactions
   */
  public static @Nullable CompactionPlan pick(
      CompactionPicker picker,
      CompactionConfig config,
      Version version,
      Set<TableFile> busy,
      Set<TableFile> spared,
      long nowMillis,
      long oldestReader) {
    if (spared.isEmpty()) {
      return picker.pick(version, busy, nowMillis, oldestReader);
    }
    Set<TableFile> untouchable = new HashSet<>(busy);
    untouchable.addAll(spared);
    TableFile[] tables = version.tables(0);
    // Two concurrent parts might write tables into each other's gaps.
    boolean free = Arrays.stream(tables).noneMatch(busy::contains);
    boolean due = free && tables.length >= config.levelZeroTables();
    boolean urgent =
        due && tables.length >= CompactionPicker.URGENT_SCORE * config.levelZeroTables();
    CompactionPlan plan = urgent ? pickLevelZero(picker, version, untouchable) : null;
    if (plan == null) {
      plan = picker.pick(version, untouchable, nowMillis, oldestReader);
    }
    return plan == null && due ? pickLevelZero(picker, version, untouchable) : plan;
  }

  private static @Nullable CompactionPlan pickLevelZero(
      CompactionPicker picker, Version version, Set<TableFile> untouchable) {
    int base = picker.baseLevel(version);
    CompactionPlan usual = picker.pickLevelZero(version, base, untouchable);
    return usual == null ? picker.pickPartOfLevelZero(version, base, untouchable) : usual;
  }
}
