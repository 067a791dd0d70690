package io.kvsep.internal.compaction;

import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.List;
import java.util.function.LongPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Finds tables whose values reclaim has moved, so that a read takes the way by the names of
 * segments that are gone. A rewrite points such a table straight at its values.
 */
public final class IndirectPointerPicker {
  /** A table is rewritten when more than this part of its values is found that way. */
  private static final long FRACTION = 8;

  private IndirectPointerPicker() {}

  /**
   * The rewrite of a table of the last level, where nearly all values are found from; null when
   * none is worth it. Costs a walk over what the tables use of segments.
   *
   * @param settled whether a rewrite points straight into a file with this id
   * @param mayRewrite which tables may be chosen; asked of those alone that are worth it
   */
  public static @Nullable CompactionPlan pick(
      Version version, LongPredicate settled, Predicate<TableFile> mayRewrite) {
    for (TableFile table : version.tables(Version.LEVELS - 1)) {
      if (isWorthIt(version, table, settled) && mayRewrite.test(table)) {
        return CompactionPicker.rewrite(List.of(table));
      }
    }
    return null;
  }

  private static boolean isWorthIt(Version version, TableFile table, LongPredicate settled) {
    long records = 0;
    long detours = 0;
    for (SegmentUse use : table.meta().segments()) {
      records += use.records();
      SegmentState state = version.segments().get(use.segment());
      if (state != null && !state.hasFile() && settled.test(state.home())) {
        detours += use.records();
      }
    }
    return detours > records / FRACTION;
  }
}
