package io.kvsep.internal.load;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.load.LoadValues.ValueFile;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemtableBudget;
import io.kvsep.internal.memory.StoreMemory;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.write.StoreWrites;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Loads many entries past log and memtables: sorts them if necessary, writes them to final tables
 * and blob files, and installs all or none with one manifest edit. One load at a time; thread safe.
 *
 * <p>The entries get sequence numbers well above those in use when the load began, because their
 * tables are written while other threads write. Installation skips the numbers in between. If
 * writers have reached the load's numbers meanwhile, its tables, small compared to the values, are
 * rewritten with higher ones. So the load is newer than everything committed before its
 * installation and older than everything after.
 *
 * <p>Several runs of ascending keys are merged. Values are not moved: those of each run are in
 * order, so a scan reads one sequential stream per run.
 *
 * <p>The calling thread reads and sorts the entries; another thread compresses, checksums and
 * writes.
 */
public final class BulkLoads {
  /** Bits by which the gap of sequence numbers grows for the next attempt. */
  private static final int ROOM_GROWTH = 8;

  /** Approximate memory of an open table, without its iterator. */
  private static final int READER_BYTES = 1 << 10;

  private final EngineConfig config;
  private final StoreWrites writes;
  private final SnapshotRegistry snapshots;
  private final VersionSet versions;
  private final CompactionScheduler background;
  private final FailureState failure;
  private final MemoryLedger ledger;
  private final MemtableBudget.Share memory;
  private final LoadInstallation installation;
  private final ReentrantLock lock = new ReentrantLock();
  private final LoadFiles owned;

  /** Memory of the running load, for sorting and merging. Guarded by the lock. */
  private long bytesMax;

  public BulkLoads(
      EngineConfig config,
      StoreWrites writes,
      SnapshotRegistry snapshots,
      VersionSet versions,
      CompactionScheduler background,
      FailureState failure,
      StoreMemory memory,
      LoadInstallation installation) {
    this.config = config;
    this.writes = writes;
    this.snapshots = snapshots;
    this.versions = versions;
    this.background = background;
    this.failure = failure;
    this.ledger = memory.ledger();
    this.memory = memory.memtables();
    this.installation = installation;
    this.owned = new LoadFiles(config.storage());
  }

  /**
   * All or none, durable on return.
   *
   * @return the number of entries passed in
   */
  public long load(int keyspace, LoadSource entries) {
    return load(keyspace, entries, installation.intoKeyspace(keyspace));
  }

  public long load(int keyspace, LoadSource entries, LoadCondition condition) {
    if (isInside()) {
      throw new IllegalStateException("a bulk load within another");
    }
    return writes.maintain("cannot load entries", () -> loadAlone(keyspace, entries, condition));
  }

  private long loadAlone(int keyspace, LoadSource entries, LoadCondition condition)
      throws IOException {
    lock.lock();
    try {
      failure.check();
      return run(keyspace, entries, condition);
    } finally {
      // Files not installed by now never will be.
      owned.close();
      lock.unlock();
    }
  }

  /** See {@link LoadInstallation#exclusively}. */
  public void exclusively(Runnable action) {
    installation.exclusively(action);
  }

  /** Whether the calling thread is inside a load and must not wait for it. */
  public boolean isInside() {
    return lock.isHeldByCurrentThread();
  }

  /** Whether a load is running or about to start. */
  public boolean isAtWork() {
    return lock.isLocked();
  }

  public Set<String> files() {
    return owned.names();
  }

  /** Includes failed loads and merged tables. */
  public long tableBytesWritten() {
    return owned.tableBytesWritten();
  }

  /** Includes failed loads. */
  public long valueBytesWritten() {
    return owned.valueBytesWritten();
  }

  private long run(int keyspace, LoadSource entries, LoadCondition condition) throws IOException {
    LoadSyncs syncs = new LoadSyncs(config.storage(), config.scheduler());
    MemtableBudget.Grant granted = memory.takeForLoad(config.shape().memtables().bytes() / 2);
    try {
      bytesMax = granted.bytes();
      return run(keyspace, entries, condition, syncs);
    } finally {
      syncs.abandon();
      granted.release();
    }
  }

  private record Written(
      List<List<TableMeta>> runs,
      List<ValueFile> values,
      long count,
      long userBytes,
      long longestEntry) {}

  private long run(int keyspace, LoadSource entries, LoadCondition condition, LoadSyncs syncs)
      throws IOException {
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
            condition, tables, written.values(), first, last, written.userBytes()),
        owned)) {
      room <<= ROOM_GROWTH;
      long higher = firstNumber(room);
      tables = merge.shifted(tables, higher - first);
      syncs.finish();
      last += higher - first;
      first = higher;
    }
    return written.count();
  }

  /** One buffer is filled and sorted while the other is written. */
  private Written written(
      JobContext context, int keyspace, LoadSource entries, long first, LoadSyncs syncs)
      throws IOException {
    long bufferBytes = bytesMax / 2;
    int inline = config.values().inlineBytesMax();
    try (LoadValues ordered = new LoadValues(config, versions, ledger, owned, syncs);
        LoadValues unordered = new LoadValues(config, versions, ledger, owned, syncs);
        LoadRuns runs = new LoadRuns(context, ordered, owned, syncs, inline, first, ledger);
        LoadBuffer one = new LoadBuffer(ledger, bufferBytes);
        LoadBuffer other = new LoadBuffer(ledger, bufferBytes);
        // Closed before everything that it uses.
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
          runs.finish(), values, input.entryCount(), input.userBytes(), input.longestEntry());
    }
  }

  private LoadMerge merge(JobContext context, Written written, LoadSyncs syncs) {
    // An iterator may hold a block and a key, and its memory grows by doubling.
    long bytesEach = 2 * (config.shape().tables().blockBytes() + 2 * written.longestEntry());
    return new LoadMerge(
        config,
        versions.storeId(),
        context,
        owned,
        syncs,
        ledger,
        bytesMax,
        bytesEach + READER_BYTES);
  }

  /** Leaves {@code room} numbers for writers. */
  private long firstNumber(long room) {
    long visible = snapshots.visibleSequence();
    // A load has fewer runs than this.
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
