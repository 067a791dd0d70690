package io.kvsep.internal.compaction;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import java.util.Collection;

/**
 * Chooses the level of tables newer than all others. Readers use the highest level that has a key,
 * so no level above may hold keys of the table, nor its own unless that is level 0. The lowest such
 * level is best: it is merged again last.
 */
public final class LoadPlacement {
  private LoadPlacement() {}

  /**
   * Returns the lowest level into which the table of a bulk load fits.
   *
   * @param running compactions, whose output may use all keys between their first and last one
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
