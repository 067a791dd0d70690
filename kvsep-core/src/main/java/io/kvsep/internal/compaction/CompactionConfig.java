package io.kvsep.internal.compaction;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.sstable.TableOptions;

/**
 * Shape of the tree.
 *
 * @param levelZeroTables tables in level 0 that make it worth compacting
 * @param levelBaseBytes target of the first level below level 0 that is in use
 * @param tableBytes length at which an output table ends
 * @param hiddenFraction of the values below a level, which part it may set free before it is due
 * @param hiddenBytesMin log bytes that are worth compacting for, however few there are below
 * @param table how tables are written in the levels that are read less than they are long
 */
public record CompactionConfig(
    int levelZeroTables,
    long levelBaseBytes,
    long tableBytes,
    double hiddenFraction,
    long hiddenBytesMin,
    TableOptions table) {
  /** Each level may be this many times as large as the one above it. */
  public static final int LEVEL_MULTIPLIER = 10;

  /**
   * Garbage that nobody can know of yet costs at most about that part of the space of the live
   * values. The index below is rewritten each time that much was written, but it is a few
   * hundredths of the values: about a fifth of what writing them costs.
   */
  public static final double HIDDEN_FRACTION = 0.15;

  /** Less than writers put into level 0 before they have to wait for it. */
  private static final int STEP_FACTOR = 4;

  /** What is above is short-lived and read most. */
  private static final int PACKED_LEVEL_MIN = 2;

  /** For the compactions of one store. */
  public static CompactionConfig of(Shape shape, StoreId storeId) {
    TableOptions defaults = TableOptions.defaults(storeId);
    return new CompactionConfig(
        shape.levelZeroTables(),
        shape.levelBaseBytes(),
        shape.tableBytes(),
        HIDDEN_FRACTION,
        shape.hiddenBytesMin(),
        new TableOptions(
            shape.blockBytes(),
            defaults.restartInterval(),
            defaults.filterBitsPerKey(),
            shape.packsBlocks(),
            defaults.pieceBytes(),
            storeId));
  }

  /** The same with tables written in longer pieces, see {@link TableOptions#pieceBytes}. */
  public CompactionConfig inPieces(int bytes) {
    return new CompactionConfig(
        levelZeroTables,
        levelBaseBytes,
        tableBytes,
        hiddenFraction,
        hiddenBytesMin,
        table.inPieces(bytes));
  }

  /**
   * What of the level below compactions that have time rewrite at once: more than ordinary ones of
   * level 0 do, and no more than writers can do without it.
   */
  long stepBytesMax() {
    return STEP_FACTOR * levelBaseBytes;
  }

  /** How tables are written into {@code level}. */
  TableOptions tableOptions(int level) {
    return level < PACKED_LEVEL_MIN ? table.unpacked() : table;
  }
}
