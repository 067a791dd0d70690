package io.kvsep.internal.compaction;

import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Finds tables whose values reclaim has moved, so that a read takes the way by the names of
 * segments that are gone. A rewrite points such a table straight at its values.
 */
public final class Detours {
  /** A table is rewritten when more than this part of its values is found that way. */
  private static final long FRACTION = 8;

  /**
   * Of a file with less of its bytes live, compactions may leave pointers alone, as reclaim may
   * rewrite it soon.
   */
  private static final double LIVE_SHARE_MIN = 0.9;

  private Detours() {}

  /**
   * The rewrite of a table of the last level, where nearly all values are found from; null when
   * none is worth it. Costs a walk over the segments and what the tables use of them, and reads
   * nothing.
   *
   * @param mayRewrite which tables may be chosen; asked of those alone that are worth it
   */
  public static @Nullable CompactionPlan pick(Version version, Predicate<TableFile> mayRewrite) {
    Map<Long, Long> live = version.liveBytesByFile();
    for (TableFile table : version.tables(Version.LEVELS - 1)) {
      if (isWorthIt(version, table, live) && mayRewrite.test(table)) {
        return CompactionPicker.rewrite(List.of(table));
      }
    }
    return null;
  }

  private static boolean isWorthIt(Version version, TableFile table, Map<Long, Long> live) {
    long records = 0;
    long detours = 0;
    for (SegmentUse use : table.meta().segments()) {
      records += use.records();
      if (isMoved(version, use.segment(), live)) {
        detours += use.records();
      }
    }
    return detours > records / FRACTION;
  }

  /** Whether a segment's records are in another file, and likely to stay there for now. */
  private static boolean isMoved(Version version, long segment, Map<Long, Long> live) {
    SegmentState state = version.segments().get(segment);
    SegmentState home =
        state == null || state.hasFile() ? null : version.segments().get(state.home());
    return home != null && live.getOrDefault(home.id(), 0L) >= LIVE_SHARE_MIN * home.sealedLength();
  }
}
