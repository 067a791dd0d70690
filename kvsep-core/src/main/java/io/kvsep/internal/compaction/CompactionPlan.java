package io.kvsep.internal.compaction;

import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.version.TableFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/**
 * One chosen compaction.
 *
 * @param inputLevel level of the inputs
 * @param outputLevel level of the output; the same for a rewrite in place
 * @param inputs tables of the input level
 * @param overlaps tables of the output level that overlap the inputs
 * @param bottom whether no level below the output level holds any of these keys
 * @param move whether the inputs move down unread
 */
public record CompactionPlan(
    int inputLevel,
    int outputLevel,
    List<TableFile> inputs,
    List<TableFile> overlaps,
    boolean bottom,
    boolean move) {
  public CompactionPlan {
    inputs = List.copyOf(inputs);
    overlaps = List.copyOf(overlaps);
  }

  /**
   * Whether keys lie between the first and the last key of the plan's tables. The output may fill
   * gaps between the inputs.
   */
  boolean meets(byte[] smallestKey, byte[] largestKey) {
    return Arrays.compareUnsigned(smallestKey(tables()), largestKey) <= 0
        && Arrays.compareUnsigned(largestKey(), smallestKey) >= 0;
  }

  /** Whether the outputs of both plans might overlap in one level. */
  public boolean clashes(CompactionPlan other) {
    return outputLevel == other.outputLevel
        && meets(smallestKey(other.tables()), other.largestKey());
  }

  public byte[] largestKey() {
    return largestKey(tables());
  }

  /** The smallest key of any of the tables; there is at least one. */
  static byte[] smallestKey(Collection<TableFile> tables) {
    return tables.stream()
        .map(table -> table.meta().smallestKey())
        .min(Arrays::compareUnsigned)
        .orElseThrow();
  }

  /** The largest key of any of the tables; there is at least one. */
  static byte[] largestKey(Collection<TableFile> tables) {
    return tables.stream()
        .map(table -> table.meta().largestKey())
        .max(Arrays::compareUnsigned)
        .orElseThrow();
  }

  /** All tables that are read or replaced. */
  public List<TableFile> tables() {
    List<TableFile> all = new ArrayList<>(inputs);
    all.addAll(overlaps);
    return all;
  }

  /** Whether a file is one of the plan's tables. */
  public boolean holds(String file) {
    return tables().stream().anyMatch(it -> file.equals(StoreFiles.table(it.meta().number())));
  }
}
