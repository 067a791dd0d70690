package io.kvsep.internal.load;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.load.LoadValues.ValueFile;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.write.StoreWrites;
import io.kvsep.internal.write.WriteRequest;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

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
 *
 * <p>The calling thread asks for the entries and sorts them; another one compresses, checksums and
 * writes meanwhile.
 */
public final class BulkLoads {
  /** By so many bits there is more room the next time. */
  private static final int ROOM_GROWTH = 8;

  /** About what an open table takes beside what its iterator does. */
  private static final int READER_BYTES = 1 << 10;

  private final EngineConfig config;
  private final StoreWrites writes;
  private final SnapshotRegistry snapshots;
  private final VersionSet versions;
  private final CompactionScheduler background;
  private final FailureState failure;
  private final MemoryLedger ledger;
  private final LoadInstallation installation;
  private final NonAllocatingLock lock = new NonAllocatingLock();
  private final LoadFiles owned;

  public BulkLoads(
      EngineConfig config,
      StoreWrites writes,
      SnapshotRegistry snapshots,
      VersionSet versions,
      CompactionScheduler background,
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
      throw PageFaults.error(e);
    } finally {
      // What is not in force by now never will be.
      owned.close();
      lock.unlock();
      writes.exit(slot);
    }
  }

  /** Whether the calling thread is inside a load, so that it cannot wait for it. */
  public boolean isInside() {
    return lock.isHeldByCurrentThread();
  }

  /** Whether somebody loads, or is about to. */
  public boolean isAtWork() {
    return lock.isLocked();
  }

  /** Files of the load that is at work. */
  public Set<String> files() {
    return owned.names();
  }

  /** Written to tables, also for what came to nothing or was only to be merged. */
  public long tableBytesWritten() {
    return owned.tableBytesWritten();
  }

  /** Written to files of values, also for what came to nothing. */
  public long valueBytesWritten() {
    return owned.valueBytesWritten();
  }

  private long run(int keyspace, LoadSource entries) throws IOException {
    LoadSyncs syncs = new LoadSyncs(config.storage(), config.scheduler());
    try {
      return run(keyspace, entries, syncs);
    } finally {
      syncs.abandon();
    }
  }

  /**
   * What was read and written of a load's input.
   *
   * @param middleKey where to divide it
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared as a whole
  private record Written(
      List<List<TableMeta>> runs,
      byte[] middleKey,
      List<ValueFile> values,
      long count,
      long userBytes,
      long longestEntry) {}

  private long run(int keyspace, LoadSource entries, LoadSyncs syncs) throws IOException {
    JobContext context = background.loadContext(owned::add, this::requireOpen);
    long room = config.shape().loadRoom();
    long first = firstNumber(room);
    Written written = written(context, keyspace, entries, first, syncs);
    if (written.runs().isEmpty()) {
      return 0;
    }
    long last = first + written.runs().size() - 1;
    LoadMerge merge = merge(context, written, syncs);
    List<TableMeta> tables = merge.all(written.runs());
    syncs.finish();
    while (!installation.install(
        new LoadInstallation.Load(
            keyspace, tables, written.values(), first, last, written.userBytes()),
        owned,
        this::requireOpen)) {
      room <<= ROOM_GROWTH;
      long higher = firstNumber(room);
      tables = merge.shifted(tables, higher - first);
      syncs.finish();
      last += higher - first;
      first = higher;
    }
    return written.count();
  }

  /** Writes runs and values: one buffer is filled and sorted while the other is written. */
  private Written written(
      JobContext context, int keyspace, LoadSource entries, long first, LoadSyncs syncs)
      throws IOException {
    long bufferBytes = bytesMax() / 2;
    int inline = config.inlineValueBytesMax();
    try (LoadValues ordered = new LoadValues(config, versions, ledger, owned, syncs);
        LoadValues unordered = new LoadValues(config, versions, ledger, owned, syncs);
        LoadRuns runs = new LoadRuns(context, ordered, owned, syncs, inline, first, ledger);
        LoadBuffer one = new LoadBuffer(ledger, bufferBytes);
        LoadBuffer other = new LoadBuffer(ledger, bufferBytes);
        // Closed before all that it works with.
        LoadWorker worker = new LoadWorker(config.scheduler())) {
      LoadInput input =
          new LoadInput(
              keyspace,
              entries,
              unordered,
              inline,
              () -> {
                requireOpen();
                worker.check();
              });
      LoadBuffer filled = one;
      while (input.fill(filled)) {
        LoadBuffer sorted = filled;
        if (input.hasEnded()) {
          worker.finish();
          runs.write(sorted);
        } else {
          worker.hand(() -> runs.write(sorted));
        }
        filled = filled == one ? other : one;
      }
      worker.finish();
      List<ValueFile> values = new ArrayList<>(ordered.finish());
      values.addAll(unordered.finish());
      return new Written(
          runs.finish(),
          runs.middleKey(),
          values,
          input.entryCount(),
          input.userBytes(),
          input.longestEntry());
    }
  }

  private LoadMerge merge(JobContext context, Written written, LoadSyncs syncs) {
    // An iterator may hold a block and a key, and grows by doubling.
    long bytesEach = 2 * (config.shape().blockBytes() + 2 * written.longestEntry());
    return new LoadMerge(
        config,
        versions.storeId(),
        context,
        owned,
        syncs,
        ledger,
        written.middleKey(),
        bytesMax(),
        bytesEach + READER_BYTES);
  }

  /** Memory for what is being put in order. */
  private long bytesMax() {
    return config.shape().memtableBytes() / 2;
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

  private void requireOpen() {
    if (writes.isClosed()) {
      throw new StoreClosedException("the store was closed meanwhile");
    }
  }
}
