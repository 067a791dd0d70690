package io.kvsep.internal.compaction;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.sstable.TableOptions;

/**
 * Shape of the tree.
 *
 * @param levelZeroTables number of tables from which level 0 is worth compacting
 * @param levelBaseBytes target of the first level below level 0 that is in use
 * @param tableBytes length at which an output table ends
 * @param hiddenFraction a level is due if it may free this part of the values below it
 * @param hiddenBytesMin log bytes that are worth compacting for, even if few values lie below
 * @param table table options for the deep levels, where size matters more than read speed
 */
public record CompactionConfig(
    int levelZeroTables,
    long levelBaseBytes,
    long tableBytes,
    double hiddenFraction,
    long hiddenBytesMin,
    TableOptions table) {
  /** Maximum ratio of the sizes of two adjacent levels. */
  public static final int LEVEL_MULTIPLIER = 10;

  /**
   * Unknown garbage costs about this part of the space of the live values. Each time that much was
   * written, the index below, a few hundredths of the values, is rewritten: about a fifth of the
   * cost of writing them.
   */
  public static final double HIDDEN_FRACTION = 0.15;

  /** Less than writers add to level 0 before they have to wait for it. */
  private static final int STEP_FACTOR = 4;

  /** Levels above are short-lived and are read most. */
  private static final int PACKED_LEVEL_MIN = 2;

  public static CompactionConfig of(Shape shape, StoreId storeId) {
    TableOptions defaults = TableOptions.defaults(storeId);
    return new CompactionConfig(
        shape.levelZero().compactionTables(),
        shape.tables().levelBaseBytes(),
        shape.tables().bytes(),
        HIDDEN_FRACTION,
        shape.log().hiddenBytesMin(),
        new TableOptions(
            shape.tables().blockBytes(),
            defaults.restartInterval(),
            defaults.filterBitsPerKey(),
            shape.tables().packsBlocks(),
            storeId));
  }

  /**
   * Bytes that one step of an idle or full compaction rewrites: more than compactions of level 0
   * do, but too few to fill level 0 meanwhile.
   */
  long stepBytesMax() {
    return STEP_FACTOR * levelBaseBytes;
  }

  TableOptions tableOptions(int level) {
    return level < PACKED_LEVEL_MIN ? table.unpacked() : table;
  }
}
