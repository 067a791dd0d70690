package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * Finds tables of which nobody can see anything any more because range deletes cover all of their
 * keys: they can go without being read. (Pebble calls this a delete-only compaction.) This is what
 * gives the space of a large deleted range back at once.
 *
 * <p>Pure: the answer depends on the arguments alone.
 */
public final class FullyDeletedTables {
  private FullyDeletedTables() {}

  /** A table and where it is. */
  public record Covered(int level, TableFile table) {}

  /**
   * What was found.
   *
   * @param tables those that can go
   * @param held whether others could if it were not for snapshots
   */
  public record Found(List<Covered> tables, boolean held) {}

  /**
   * The covered tables of a version.
   *
   * @param boundaries sequence numbers somebody may read at, ascending, never empty
   * @param busy tables that a compaction works on
   * @param unreadable tables whose deleted ranges are passed over; they can be found themselves
   */
  public static Found find(
      Version version, long[] boundaries, Set<TableFile> busy, Set<TableFile> unreadable) {
    RangeTombstones ranges = rangeTombstones(version, unreadable);
    long[] visible = {boundaries[boundaries.length - 1]};
    List<Covered> found = new ArrayList<>();
    boolean held = false;
    for (int i = 0; i < ranges.count(); i++) {
      for (int level = 0; level < Version.LEVELS; level++) {
        for (TableFile table : version.overlapping(level, ranges.start(i), ranges.end(i))) {
          // Looked at once, with the fragment in which the table begins.
          boolean begins =
              Arrays.compareUnsigned(table.meta().smallestKey(), ranges.start(i)) >= 0
                  && Arrays.compareUnsigned(table.meta().smallestKey(), ranges.end(i)) < 0;
          if (begins && !busy.contains(table)) {
            boolean lowest = isLowest(version, level, table);
            if (isCovered(table, ranges, i, boundaries, lowest)) {
              found.add(new Covered(level, table));
            } else {
              held |= isCovered(table, ranges, i, visible, lowest);
            }
          }
        }
      }
    }
    return new Found(found, held);
  }

  private static RangeTombstones rangeTombstones(Version version, Set<TableFile> unreadable) {
    RangeTombstones.Builder all = new RangeTombstones.Builder();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.rangeTables(level)) {
        if (!unreadable.contains(table)) {
          all.add(table.rangeTombstones());
        }
      }
    }
    return all.build();
  }

  /** Whether no older table can hold any key of the table's range. */
  private static boolean isLowest(Version version, int level, TableFile table) {
    byte[] smallest = table.meta().smallestKey();
    byte[] largest = table.meta().largestKey();
    boolean lowest = level > 0;
    for (int below = level + 1; lowest && below < Version.LEVELS; below++) {
      lowest = version.overlapping(below, smallest, largest).isEmpty();
    }
    return lowest;
  }

  /** Whether the fragments from {@code first} on hide everything in the table from everybody. */
  private static boolean isCovered(
      TableFile table, RangeTombstones ranges, int first, long[] boundaries, boolean lowest) {
    byte[] largest = table.meta().largestKey();
    for (int i = first; i < ranges.count(); i++) {
      boolean adjacent = i == first || Arrays.equals(ranges.end(i - 1), ranges.start(i));
      if (!adjacent || !hides(ranges.sequences(i), table, boundaries, lowest)) {
        return false;
      }
      if (Arrays.compareUnsigned(largest, ranges.end(i)) < 0) {
        return true;
      }
    }
    return false;
  }

  /**
   * Whether one of the deletes is newer than the table and nobody reads at a moment before it at
   * which some of the table could be seen. A delete with the table's highest number is its own: it
   * is newer than the entries, and has nothing else to hide when the table is the lowest.
   */
  private static boolean hides(long[] deletes, TableFile table, long[] boundaries, boolean lowest) {
    long newest = table.meta().largestSequence();
    for (long delete : deletes) {
      if (lowest ? delete < newest : delete <= newest) {
        return false;
      }
      boolean seen = false;
      for (long boundary : boundaries) {
        seen |= boundary >= table.meta().smallestSequence() && boundary < delete;
      }
      if (!seen) {
        return true;
      }
    }
    return false;
  }
}
