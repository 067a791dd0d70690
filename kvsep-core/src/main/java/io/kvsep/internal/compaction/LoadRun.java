package io.kvsep.internal.compaction;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.Version;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/**
 * Writes entries that are in no version yet, ascending, into tables as the last level has them; of
 * each key the newest alone. Not thread safe. Any failure deletes all of the tables.
 */
public final class LoadRun implements AutoCloseable {
  private final JobContext context;
  private final VersionFilter filter;
  private final CompactionOutput output;

  /**
   * Begins a run, without making a file.
   *
   * @param unsynced takes each table as it is finished; it is not durable yet, nor is its name
   */
  public LoadRun(JobContext context, Consumer<TableMeta> unsynced) {
    this.context = context;
    this.filter =
        new VersionFilter(
            new long[] {Limits.SEQUENCE_MAX},
            /* bottom= */ false,
            context.nowMillis(),
            RangeTombstones.NONE,
            context.ledger());
    this.output =
        new CompactionOutput(
            context.storage(),
            context.ledger(),
            context.config().tableOptions(Version.LEVELS - 1).ofLoad(),
            context.fileNumbers(),
            context.config().tableBytes(),
            unsynced);
  }

  /**
   * Writes entries that come behind all that were added before.
   *
   * @param entries walked once, forward from the first; stays open
   */
  public void add(InternalIterator entries) throws IOException {
    output.writeAll(entries, filter, PointerRefresh.NONE, context.cancelled());
  }

  /** Ends the run: its tables, ascending and disjoint. */
  public List<TableMeta> finish() throws IOException {
    return output.finish();
  }

  /** Frees what is held; deletes all tables unless {@link #finish} succeeded. */
  @Override
  public void close() {
    filter.close();
    output.close();
  }
}
