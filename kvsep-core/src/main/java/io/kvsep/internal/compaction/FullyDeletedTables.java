package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * Finds tables that range deletes hide from every reader. Dropping them unread frees the space of a
 * large deleted range at once. (Pebble: delete-only compaction.)
 *
 * <p>Pure: the result depends only on the arguments.
 */
public final class FullyDeletedTables {
  private FullyDeletedTables() {}

  public record Covered(int level, TableFile table) {}

  /**
   * The result of {@link #find}.
   *
   * @param tables the tables that can be dropped
   * @param held whether only snapshots keep further ones
   */
  public record Found(List<Covered> tables, boolean held) {}

  /**
   * Finds the tables whose keys are all deleted by ranges.
   *
   * @param boundaries sequence numbers at which anything may be read, ascending, never empty
   * @param busy tables of running compactions, which are not returned
   * @param unreadable tables whose range deletes are ignored; they can still be returned
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
          // Examined once, with the fragment in which the table begins.
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

  /** Whether the fragments from {@code first} on hide the whole table from every reader. */
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
   * Whether a delete is newer than the table and no older reader sees any of it. A delete with the
   * table's highest sequence is its own: newer than the entries, it hides nothing else if the table
   * is the lowest.
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
