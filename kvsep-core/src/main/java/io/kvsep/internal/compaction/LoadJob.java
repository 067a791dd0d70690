package io.kvsep.internal.compaction;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** Writes entries that are in no version yet into tables as the last level has them. */
public final class LoadJob {
  private LoadJob() {}

  /**
   * The tables, ascending and disjoint; of each key they hold the newest entry alone. A failure
   * leaves no file behind.
   *
   * @param entries walked once, forward; stays open
   * @param unsynced takes each table as it is finished; it is not durable yet, nor is its name
   */
  public static List<TableMeta> run(
      JobContext context, InternalIterator entries, Consumer<TableMeta> unsynced)
      throws IOException {
    try (VersionFilter filter =
            new VersionFilter(
                new long[] {Limits.SEQUENCE_MAX},
                /* bottom= */ false,
                context.nowMillis(),
                RangeTombstones.NONE,
                context.ledger());
        TableOutput output =
            new TableOutput(
                context.storage(),
                context.ledger(),
                context.config().tableOptions(Version.LEVELS - 1),
                context.fileNumbers(),
                context.config().tableBytes(),
                unsynced)) {
      output.writeAll(entries, filter, PointerRefresh.NONE, context.cancelled());
      return output.finish();
    }
  }
}
