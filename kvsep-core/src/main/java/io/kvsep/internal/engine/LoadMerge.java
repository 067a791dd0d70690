package io.kvsep.internal.engine;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.compaction.LoadRun;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.SequenceShift;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Merges the runs of a bulk load into one, as many at a time as there is memory for. Each pass
 * deletes the tables it has read. Values are not moved. Used by one thread.
 */
final class LoadMerge {
  private static final int FAN_IN_MIN = 2;

  private final Storage storage;
  private final StoreId storeId;
  private final JobContext context;
  private final LoadFiles owned;
  private final LoadSyncs syncs;
  private final MemoryLedger ledger;
  private final TableCache noCache;
  private final int fanIn;

  /**
   * @param bytes memory for all runs that are merged at once
   * @param bytesEach what one of them may take
   */
  LoadMerge(
      Storage storage,
      StoreId storeId,
      JobContext context,
      LoadFiles owned,
      LoadSyncs syncs,
      MemoryLedger ledger,
      long bytes,
      long bytesEach) {
    this.storage = storage;
    this.storeId = storeId;
    this.context = context;
    this.owned = owned;
    this.syncs = syncs;
    this.ledger = ledger;
    this.noCache = new TableCache(0, 0, Runnable::run, ledger);
    this.fanIn = (int) Math.max(FAN_IN_MIN, Math.min(Integer.MAX_VALUE, bytes / bytesEach));
  }

  /** One run of all. A single one is left as it is. */
  List<TableMeta> all(List<List<TableMeta>> runs) throws IOException {
    ArrayDeque<List<TableMeta>> left = new ArrayDeque<>(runs);
    while (left.size() > 1) {
      // Before the last pass no more than what that one would have too many.
      int excess = left.size() - fanIn;
      int count = excess <= 0 ? left.size() : Math.min(fanIn, excess + 1);
      List<List<TableMeta>> merged = new ArrayList<>();
      while (merged.size() < count) {
        merged.add(left.remove());
      }
      left.add(merged(merged, 0, /* last= */ left.isEmpty()));
    }
    return left.remove();
  }

  /** The same run with higher sequence numbers. */
  List<TableMeta> shifted(List<TableMeta> run, long by) throws IOException {
    return merged(List.of(run), by, /* last= */ true);
  }

  private List<TableMeta> merged(List<List<TableMeta>> runs, long shift, boolean last)
      throws IOException {
    List<TableMeta> merged;
    try (InternalIterator entries = new SequenceShift(open(runs), shift);
        LoadRun run =
            new LoadRun(
                context,
                table -> {
                  if (last) {
                    syncs.begin(StoreFiles.table(table.number()));
                  }
                })) {
      run.add(entries);
      merged = run.finish();
      // The last blocks too, behind which no other was entered.
      Region.requirePagesRead();
    }
    List<String> names =
        runs.stream().flatMap(List::stream).map(t -> StoreFiles.table(t.number())).toList();
    syncs.drop(names);
    owned.delete(names);
    return merged;
  }

  private MergingIterator open(List<List<TableMeta>> runs) throws IOException {
    try (IteratorSources sources = new IteratorSources()) {
      for (List<TableMeta> run : runs) {
        sources.add(new LoadRunIterator(storage, storeId, noCache, run, ledger));
      }
      return new MergingIterator(sources.take(), ledger);
    }
  }
}
