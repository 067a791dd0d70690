package io.kvsep.internal.compaction;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import java.util.Collection;

/**
 * Where tables go whose entries are newer than all others: readers take what they find in the
 * highest level, so a table may lie in a level only if no level above it holds any of its keys, and
 * it overlaps nothing in its own unless that is level 0. The lower the better: what lies deep is
 * not merged again soon.
 */
public final class LoadPlacement {
  private LoadPlacement() {}

  /**
   * The lowest level for a table.
   *
   * @param running compactions at work; their tables may go down meanwhile, and what comes of them
   *     may take all keys between their first and their last one
   */
  public static int level(Version version, Collection<CompactionPlan> running, TableMeta table) {
    int level = 0;
    while (level < Version.LEVELS && isFree(version, running, table, level)) {
      level++;
    }
    return Math.max(0, level - 1);
  }

  private static boolean isFree(
      Version version, Collection<CompactionPlan> running, TableMeta table, int level) {
    if (!version.overlapping(level, table.smallestKey(), table.largestKey()).isEmpty()) {
      return false;
    }
    for (CompactionPlan plan : running) {
      boolean there = level == plan.inputLevel() || level == plan.outputLevel();
      if (there && plan.meets(table.smallestKey(), table.largestKey())) {
        return false;
      }
    }
    return true;
  }
}
