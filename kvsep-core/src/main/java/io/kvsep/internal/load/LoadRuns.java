package io.kvsep.internal.load;

import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.compaction.LoadRun;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes sorted buffers of a bulk load into runs of ascending keys: a run continues while the next
 * buffer is after it. Ascending input makes one run of any length; other input about one run per
 * buffer. If a key is in several runs, the last has its newest entry. Used by one thread at a time.
 */
final class LoadRuns implements AutoCloseable {
  private final JobContext context;
  private final LoadValues values;
  private final LoadFiles owned;
  private final LoadSyncs syncs;
  private final int inlineValueBytesMax;
  private final long first;
  private final MemoryLedger ledger;
  private final GrowingRegion lastKey;
  private final List<List<TableMeta>> finished = new ArrayList<>();

  private int lastKeyLength;
  private @Nullable LoadRun current;

  /**
   * @param values receives values that are not stored inline
   * @param first sequence number of the first run; later runs have consecutive ones
   */
  LoadRuns(
      JobContext context,
      LoadValues values,
      LoadFiles owned,
      LoadSyncs syncs,
      int inlineValueBytesMax,
      long first,
      MemoryLedger ledger) {
    this.context = context;
    this.values = values;
    this.owned = owned;
    this.syncs = syncs;
    this.inlineValueBytesMax = inlineValueBytesMax;
    this.first = first;
    this.ledger = ledger;
    this.lastKey = new GrowingRegion(ledger, MemoryPurpose.BULK_LOAD);
  }

  /** The buffer is sorted and not empty. */
  void write(LoadBuffer buffer) throws IOException {
    if (current != null && !isBehind(buffer)) {
      finishCurrent();
    }
    LoadRun run = current;
    if (run == null) {
      run = new LoadRun(context, this::unsynced);
      current = run;
    }
    try (LoadedEntries entries =
        new LoadedEntries(buffer, values, inlineValueBytesMax, first + finished.size(), ledger)) {
      run.add(entries);
    }
    lastKeyLength = buffer.keyLength();
    lastKey.ensure(lastKeyLength).put(0, buffer.region(), buffer.keyOffset(), lastKeyLength);
  }

  /** Returns the tables of each run. */
  List<List<TableMeta>> finish() throws IOException {
    if (current != null) {
      finishCurrent();
    }
    return finished;
  }

  /** Discards unfinished output. */
  @Override
  public void close() {
    lastKey.close();
    if (current != null) {
      current.close();
      current = null;
    }
  }

  private void finishCurrent() throws IOException {
    LoadRun run = current;
    if (run != null) {
      finished.add(run.finish());
      run.close();
      current = null;
    }
  }

  /** The first run may be the only one; others are merged and need not be durable. */
  private void unsynced(TableMeta table) {
    owned.finished(table);
    if (finished.isEmpty()) {
      syncs.begin(StoreFiles.table(table.number()));
    }
  }

  /** Whether the whole buffer is after the last key. */
  private boolean isBehind(LoadBuffer buffer) {
    buffer.next();
    Region region = buffer.region();
    int order =
        Region.compare(
            lastKey.region(), 0, lastKeyLength, region, buffer.keyOffset(), buffer.keyLength());
    buffer.rewind();
    return order < 0;
  }
}
