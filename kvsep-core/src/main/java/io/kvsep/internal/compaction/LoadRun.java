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
 * Writes the newest of ascending entries for each key into tables in the format of the last level.
 * Any failure deletes all tables. Not thread safe.
 */
public final class LoadRun implements AutoCloseable {
  private final JobContext context;
  private final VersionFilter filter;
  private final CompactionOutput output;

  /**
   * Creates no file yet.
   *
   * @param unsynced receives each finished table, which is not durable, nor is its name
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
   * Writes entries whose keys follow all earlier ones.
   *
   * @param entries traversed once from the first; not closed
   */
  public void add(InternalIterator entries) throws IOException {
    output.writeAll(entries, filter, PointerRefresh.NONE, context.cancelled());
  }

  /** The tables, ascending and disjoint. */
  public List<TableMeta> finish() throws IOException {
    return output.finish();
  }

  /** Deletes all tables unless {@link #finish} succeeded. */
  @Override
  public void close() {
    filter.close();
    output.close();
  }
}
