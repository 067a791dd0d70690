package io.kvsep.internal.load;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.compaction.LoadRun;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.SequenceShift;
import io.kvsep.internal.load.LoadRunIterator.KeyRange;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Merges the runs of a bulk load into one, as many at a time as memory allows. Each pass deletes
 * its input tables. Values are not moved. If memory suffices, the last pass runs as two concurrent
 * halves, divided at a middle key: one by the caller, one by a thread of the load lane. Used by one
 * thread.
 */
final class LoadMerge {
  private static final int FAN_IN_MIN = 2;

  private final Storage storage;
  private final Scheduler scheduler;
  private final StoreId storeId;
  private final JobContext context;
  private final LoadFiles owned;
  private final LoadSyncs syncs;
  private final MemoryLedger ledger;
  private final TableCache noCache;
  private final byte[] middleKey;
  private final int fanIn;

  /**
   * @param middleKey where to divide the keys
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
      byte[] middleKey,
      long bytes,
      long bytesEach) {
    this.storage = config.storage();
    this.scheduler = config.scheduler();
    this.middleKey = middleKey;
    this.storeId = storeId;
    this.context = context;
    this.owned = owned;
    this.syncs = syncs;
    this.ledger = ledger;
    this.noCache = new TableCache(0, 0, Runnable::run, ledger, ColdReadPolicy.WARM);
    this.fanIn = (int) Math.max(FAN_IN_MIN, Math.min(Integer.MAX_VALUE, bytes / bytesEach));
  }

  /** Merges all runs into one. A single run is returned unchanged. */
  List<TableMeta> all(List<List<TableMeta>> runs) throws IOException {
    ArrayDeque<List<TableMeta>> left = new ArrayDeque<>(runs);
    while (left.size() > 1) {
      // Passes before the last merge only as many runs as exceed its fan-in.
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
    List<TableMeta> merged =
        last && 2 * runs.size() <= fanIn
            ? mergedInHalves(runs, shift)
            : new Part(runs, KeyRange.ALL, shift, last).merged(context);
    List<String> names =
        runs.stream().flatMap(List::stream).map(t -> StoreFiles.table(t.number())).toList();
    syncs.drop(names);
    owned.delete(names);
    return merged;
  }

  private List<TableMeta> mergedInHalves(List<List<TableMeta>> runs, long shift)
      throws IOException {
    AtomicBoolean failed = new AtomicBoolean();
    Half lower = new Half(new Part(runs, new KeyRange(null, middleKey), shift, true), failed);
    Half upper = new Half(new Part(runs, new KeyRange(middleKey, null), shift, true), failed);
    // Runs below if no thread is available.
    scheduler.tryExecute(Lane.LOAD, upper);
    lower.run();
    if (failed.get()) {
      upper.skip();
    }
    upper.await();
    lower.throwIfFailed();
    upper.throwIfFailed();
    List<TableMeta> all = new ArrayList<>(lower.tables);
    all.addAll(upper.tables);
    return all;
  }

  /** One of two concurrent halves; stops early if the other one fails. */
  private final class Half extends LoadTask {
    private final Part part;
    private final AtomicBoolean failed;
    private List<TableMeta> tables = List.of();

    Half(Part part, AtomicBoolean failed) {
      this.part = part;
      this.failed = failed;
    }

    @Override
    void work() throws IOException {
      boolean done = false;
      try {
        tables = part.merged(context.cancelledToo(failed::get));
        done = true;
      } catch (CancellationException e) {
        if (!failed.get()) {
          throw e;
        }
        // The other half reports the cause.
      } finally {
        if (!done) {
          failed.set(true);
        }
      }
    }
  }

  /** Merges a key range of some runs. */
  private final class Part {
    private final List<List<TableMeta>> runs;
    private final KeyRange keys;
    private final long shift;
    private final boolean last;

    Part(List<List<TableMeta>> runs, KeyRange keys, long shift, boolean last) {
      this.runs = runs;
      this.keys = keys;
      this.shift = shift;
      this.last = last;
    }

    List<TableMeta> merged(JobContext job) throws IOException {
      try (InternalIterator entries = new SequenceShift(open(), shift);
          LoadRun run =
              new LoadRun(
                  job,
                  table -> {
                    owned.finished(table);
                    if (last) {
                      syncs.begin(StoreFiles.table(table.number()));
                    }
                  })) {
        run.add(entries);
        List<TableMeta> merged = run.finish();
        // Also covers the last blocks, after which no other was entered.
        Region.requirePagesRead();
        return merged;
      }
    }

    private MergingIterator open() throws IOException {
      try (IteratorSources sources = new IteratorSources()) {
        for (List<TableMeta> run : runs) {
          sources.add(new LoadRunIterator(storage, storeId, noCache, run, keys, ledger));
        }
        return sources.merge(ledger);
      }
    }
  }
}
