package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One compaction, chosen.
 *
 * @param inputLevel level the data comes from
 * @param outputLevel level it goes to; the same for a rewrite in place
 * @param inputs tables of the input level
 * @param overlaps tables of the output level whose keys the inputs overlap
 * @param bottom whether no level below the output level holds any of these keys
 * @param move whether the inputs can go down as they are, without being read
 * @param cuts keys, ascending, at which a table ends however short it is
 */
public record CompactionPlan(
    int inputLevel,
    int outputLevel,
    List<TableFile> inputs,
    List<TableFile> overlaps,
    boolean bottom,
    boolean move,
    List<byte[]> cuts) {
  public CompactionPlan {
    inputs = List.copyOf(inputs);
    overlaps = List.copyOf(overlaps);
    cuts = List.copyOf(cuts);
  }

  /** One whose tables end by their length alone. */
  public CompactionPlan(
      int inputLevel,
      int outputLevel,
      List<TableFile> inputs,
      List<TableFile> overlaps,
      boolean bottom,
      boolean move) {
    this(inputLevel, outputLevel, inputs, overlaps, bottom, move, List.of());
  }

  /**
   * Whether any of the keys are between the first and the last one of its tables: what it writes
   * may take them, though there may be gaps between what it reads.
   */
  boolean meets(byte[] smallestKey, byte[] largestKey) {
    boolean below = false;
    boolean above = false;
    for (TableFile taken : tables()) {
      below |= Arrays.compareUnsigned(taken.meta().smallestKey(), largestKey) <= 0;
      above |= Arrays.compareUnsigned(taken.meta().largestKey(), smallestKey) >= 0;
    }
    return below && above;
  }

  /** Every table the compaction reads or replaces. */
  public List<TableFile> tables() {
    List<TableFile> all = new ArrayList<>(inputs);
    all.addAll(overlaps);
    return all;
  }
}
