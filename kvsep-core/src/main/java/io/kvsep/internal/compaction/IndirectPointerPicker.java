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
 * Finds tables whose values reclaim has moved, so that reads go through names of segments that no
 * longer exist. A rewrite makes their pointers direct.
 */
public final class IndirectPointerPicker {
  /** A table is rewritten if more than 1/n of its pointers are indirect. */
  private static final long FRACTION = 8;

  private IndirectPointerPicker() {}

  /**
   * Rewrites a table of the last level, which holds nearly all pointers; null if none is worth it.
   * Costs a walk over the tables' segment uses.
   *
   * @param settled whether a rewrite makes pointers into the file with this id direct
   * @param mayRewrite which tables may be chosen; called only for those that are worth it
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
