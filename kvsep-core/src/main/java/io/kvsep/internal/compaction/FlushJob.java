package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.util.List;

/** Writes a memtable into a table of level 0. */
public final class FlushJob {
  private FlushJob() {}

  /**
   * The table, durable, or none if nothing in the memtable is worth keeping. A failure leaves no
   * file.
   *
   * @param memtable the entries; closed by this call
   * @param ranges the memtable's range deletes
   */
  public static List<TableMeta> run(
      JobContext context, InternalIterator memtable, RangeTombstones ranges) throws IOException {
    try (memtable;
        VersionFilter filter =
            new VersionFilter(
                context.boundaries(),
                /* bottom= */ false,
                context.nowMillis(),
                ranges,
                context.ledger());
        CompactionOutput output =
            new CompactionOutput(
                context.storage(),
                context.ledger(),
                context.config().tableOptions(0),
                context.fileNumbers(),
                Long.MAX_VALUE)) {
      output.writeAll(memtable, filter, context.pointers(), context.cancelled());
      return output.finish();
    }
  }
}
