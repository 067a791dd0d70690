package io.kvsep.internal.engine;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.compaction.LoadJob;
import io.kvsep.internal.engine.LoadValues.ValueFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.iterator.SequenceShift;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableReader;
import io.kvsep.internal.version.VersionSet;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Puts many entries into the store past log and memtables: they are sorted as far as they need it,
 * written into tables and files of values as they will stay, and put in force by one edit of the
 * manifest, all of them or none. One load at a time; thread safe.
 *
 * <p>The entries get numbers that lie a good way above all that were given out when the load began,
 * because their tables are written while others write. When they are put in force, the numbers
 * between are passed over. Should writers have come that far meanwhile, the tables, which are
 * little beside the values, are written once more with higher ones. So the load is newer than
 * everything that was committed before it came into force, and older than everything after.
 *
 * <p>Runs of ascending keys are merged where there is more than one. Values are not moved for it:
 * each run's lie in order, which is one sequential stream a run for whoever scans them.
 */
public final class BulkLoads {
  /** By so many bits there is more room the next time. */
  private static final int ROOM_GROWTH = 8;

  private final EngineConfig config;
  private final StoreWrites writes;
  private final SnapshotRegistry snapshots;
  private final VersionSet versions;
  private final BackgroundWork background;
  private final FailureState failure;
  private final MemoryLedger ledger;
  private final LoadInstallation installation;
  private final ReentrantLock lock = new ReentrantLock();
  private final LoadFiles owned;

  BulkLoads(
      EngineConfig config,
      StoreWrites writes,
      SnapshotRegistry snapshots,
      VersionSet versions,
      BackgroundWork background,
      FailureState failure,
      MemoryLedger ledger,
      LoadInstallation installation) {
    this.config = config;
    this.writes = writes;
    this.snapshots = snapshots;
    this.versions = versions;
    this.background = background;
    this.failure = failure;
    this.ledger = ledger;
    this.installation = installation;
    this.owned = new LoadFiles(config.storage());
  }

  /**
   * Loads entries into a keyspace: all or none, durable on return.
   *
   * @return how many were handed in
   */
  public long load(int keyspace, LoadSource entries) {
    if (isInside()) {
      throw new IllegalStateException("a bulk load within another");
    }
    EpochSlot<WriteRequest> slot = writes.enter();
    lock.lock();
    try {
      failure.check();
      return run(keyspace, entries);
    } catch (IOException e) {
      throw new StorageException("cannot load entries", e);
    } catch (InternalError e) {
      throw UnreadablePage.error(e);
    } finally {
      // What is not in force by now never will be.
      owned.close();
      lock.unlock();
      writes.exit(slot);
    }
  }

  /** Whether the calling thread is inside a load, so that it cannot wait for it. */
  boolean isInside() {
    return lock.isHeldByCurrentThread();
  }

  /** Finished files of the load that is at work. */
  Set<String> files() {
    return owned.names();
  }

  private record Run(List<TableMeta> tables) {}

  private long run(int keyspace, LoadSource entries) throws IOException {
    LoadSyncs syncs = new LoadSyncs(config.storage(), config.scheduler());
    try {
      return run(keyspace, entries, syncs);
    } finally {
      syncs.abandon();
    }
  }

  private long run(int keyspace, LoadSource entries, LoadSyncs syncs) throws IOException {
    JobContext context = background.loadContext(this::requireOpen);
    List<Run> runs = new ArrayList<>();
    long room = config.shape().loadRoom();
    long first = firstNumber(room);
    List<ValueFile> values;
    long count;
    long userBytes;
    try (LoadBuffer buffer = new LoadBuffer(ledger, config.shape().memtableBytes() / 2);
        LoadValues files = new LoadValues(config, versions, ledger, owned, syncs);
        LoadedEntries loaded =
            new LoadedEntries(
                keyspace,
                entries,
                buffer,
                files,
                config.inlineValueBytesMax(),
                ledger,
                this::requireOpen)) {
      while (loaded.begin(first + runs.size())) {
        // The first may be all there is; others are merged, and need not outlive the load.
        runs.add(written(context, loaded, runs.isEmpty() ? syncs : null));
      }
      values = files.finish();
      count = loaded.entryCount();
      userBytes = loaded.userBytes();
    }
    if (runs.isEmpty()) {
      return 0;
    }
    long last = first + runs.size() - 1;
    Run all = runs.size() == 1 ? runs.get(0) : merged(context, runs, 0, syncs);
    syncs.finish();
    while (!installation.install(
        new LoadInstallation.Load(keyspace, all.tables(), values, first, last, userBytes),
        owned,
        this::requireOpen)) {
      room <<= ROOM_GROWTH;
      long higher = firstNumber(room);
      all = merged(context, List.of(all), higher - first, syncs);
      syncs.finish();
      last += higher - first;
      first = higher;
    }
    return count;
  }

  /** The least number of a load that leaves writers so much room. */
  private long firstNumber(long room) {
    long visible = snapshots.visibleSequence();
    // A load has less than so many runs.
    if (visible > Limits.SEQUENCE_MAX - Integer.MAX_VALUE - room) {
      throw new LimitExceededException("sequence numbers are used up");
    }
    return visible + room;
  }

  /**
   * Writes one run.
   *
   * @param syncs makes the tables durable, null when they need not be
   */
  private Run written(JobContext context, InternalIterator entries, @Nullable LoadSyncs syncs)
      throws IOException {
    List<TableMeta> tables =
        LoadJob.run(
            context,
            entries,
            table -> {
              if (syncs != null) {
                syncs.begin(StoreFiles.table(table.number()));
              }
            });
    tables.forEach(table -> owned.add(StoreFiles.table(table.number())));
    return new Run(tables);
  }

  /** Makes one run of several, with other numbers. */
  private Run merged(JobContext context, List<Run> runs, long shift, LoadSyncs syncs)
      throws IOException {
    List<String> names = new ArrayList<>();
    List<TableReader> readers = new ArrayList<>();
    Run merged;
    try (InternalIterator entries = new SequenceShift(open(runs, readers, names), shift)) {
      merged = written(context, entries, syncs);
      // The last blocks too, behind which no other was entered.
      Region.requirePagesRead();
    } finally {
      readers.forEach(TableReader::close);
    }
    syncs.drop(names);
    owned.delete(names);
    return merged;
  }

  private MergingIterator open(List<Run> runs, List<TableReader> readers, List<String> names)
      throws IOException {
    TableCache none = new TableCache(0, 0, Runnable::run, ledger);
    try (IteratorSources sources = new IteratorSources()) {
      for (Run run : runs) {
        for (TableMeta table : run.tables()) {
          TableReader reader = TableReader.open(config.storage(), table, versions.storeId(), none);
          readers.add(reader);
          names.add(StoreFiles.table(table.number()));
          sources.add(reader.iterator(ledger));
        }
      }
      return new MergingIterator(sources.take(), ledger);
    }
  }

  private void requireOpen() {
    if (writes.isClosed()) {
      throw new StoreClosedException("the store was closed meanwhile");
    }
  }
}
