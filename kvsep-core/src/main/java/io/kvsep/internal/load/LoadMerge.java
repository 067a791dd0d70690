package io.kvsep.internal.load;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.compaction.LoadRun;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.SequenceShift;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Merges the runs of a bulk load into one, as many at a time as memory allows. Each pass deletes
 * its input tables. Values are not moved. Used by one thread.
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
   * @param bytes memory for all runs merged at once
   * @param bytesEach memory of one run
   */
  LoadMerge(
      EngineConfig config,
      StoreId storeId,
      JobContext context,
      LoadFiles owned,
      LoadSyncs syncs,
      MemoryLedger ledger,
      long bytes,
      long bytesEach) {
    this.storage = config.storage();
    this.storeId = storeId;
    this.context = context;
    this.owned = owned;
    this.syncs = syncs;
    this.ledger = ledger;
    this.noCache = new TableCache(0, 0, Runnable::run, ledger, ColdReadPolicy.WARM);
    this.fanIn = (int) Math.max(FAN_IN_MIN, Math.min(Integer.MAX_VALUE, bytes / bytesEach));
  }

  /** A single run is returned unchanged. */
  List<TableMeta> all(List<List<TableMeta>> runs) throws IOException {
    ArrayDeque<List<TableMeta>> left = new ArrayDeque<>(runs);
    while (left.size() > 1) {
      // Before the last pass, merges only as many runs as exceed its fan-in.
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

  /** Rewrites the run with higher sequence numbers. */
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
                  owned.finished(table);
                  if (last) {
                    syncs.begin(StoreFiles.table(table.number()));
                  }
                })) {
      run.add(entries);
      merged = run.finish();
      // Covers the last blocks, too, after which no other was entered.
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
      return sources.merge(ledger);
    }
  }
}
