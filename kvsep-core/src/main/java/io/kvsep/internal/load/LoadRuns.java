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
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes sorted buffers of a bulk load into runs of ascending keys: a run goes on as long as the
 * next buffer lies behind it. So ascending input is one run whatever its length, and any other is
 * about as many runs as it is times as long as a buffer. Of a key that is in several runs the one
 * in the last of them is the newest.
 *
 * <p>Used by one thread at a time.
 */
final class LoadRuns implements AutoCloseable {
  /** More would hardly tell more. */
  private static final int MIDDLES_MAX = 64;

  private final JobContext context;
  private final LoadValues values;
  private final LoadFiles owned;
  private final LoadSyncs syncs;
  private final int inlineValueBytesMax;
  private final long first;
  private final MemoryLedger ledger;
  private final GrowingRegion lastKey;
  private final List<List<TableMeta>> finished = new ArrayList<>();

  /** Keys in the middle of buffers. */
  private final List<byte[]> middles = new ArrayList<>();

  private int lastKeyLength;
  private @Nullable LoadRun current;

  /**
   * @param values takes those that do not stay beside their key
   * @param first sequence number of the first run; the others' follow
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

  /** Writes the entries of a buffer that was sorted, and is not empty. */
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
    if (middles.size() < MIDDLES_MAX) {
      middles.add(buffer.middleKey());
    }
    lastKeyLength = buffer.keyLength();
    lastKey.ensure(lastKeyLength).put(0, buffer.region(), buffer.keyOffset(), lastKeyLength);
  }

  /** A key that about as many lie in front of as behind, if their order was not a strange one. */
  byte[] middleKey() {
    List<byte[]> sorted = new ArrayList<>(middles);
    sorted.sort(Arrays::compareUnsigned);
    return sorted.isEmpty() ? new byte[0] : sorted.get(sorted.size() / 2);
  }

  /** Ends the last run: the tables of each. */
  List<List<TableMeta>> finish() throws IOException {
    if (current != null) {
      finishCurrent();
    }
    return finished;
  }

  /** Frees what is held, and gives up what is being written. */
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

  /** The first run may be all there is; others are merged, and need not outlive the load. */
  private void unsynced(TableMeta table) {
    owned.finished(table);
    if (finished.isEmpty()) {
      syncs.begin(StoreFiles.table(table.number()));
    }
  }

  /** Whether all of the buffer lies behind the last key. */
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
