package io.kvsep.internal.engine;

import io.kvsep.ReclaimReport;
import io.kvsep.SegmentStats;
import io.kvsep.StoreStats;
import io.kvsep.VerifyReport;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.background.FailStopScheduler;
import io.kvsep.internal.background.FileRemover;
import io.kvsep.internal.background.FlushReordering;
import io.kvsep.internal.backup.StoreBackups;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.feed.ChangeLog;
import io.kvsep.internal.feed.ChangeReader;
import io.kvsep.internal.io.FailStopStorage;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.load.BulkLoads;
import io.kvsep.internal.load.LoadInstallation;
import io.kvsep.internal.memory.ChronicleLogging;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memory.StoreMemory;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.reclaim.LogSpace;
import io.kvsep.internal.reclaim.ReclaimContext;
import io.kvsep.internal.reclaim.ReclaimPressure;
import io.kvsep.internal.reclaim.ReclaimScheduler;
import io.kvsep.internal.reclaim.ReclaimStart;
import io.kvsep.internal.reclaim.RefreshTargets;
import io.kvsep.internal.reclaim.ValueReordering;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.txn.EngineTransaction;
import io.kvsep.internal.txn.EngineWriteBuffer;
import io.kvsep.internal.verify.VerifyJob;
import io.kvsep.internal.version.LiveTables;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.TableTotal;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.vlog.FrameEntryReader;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.internal.vlog.ValueReader;
import io.kvsep.internal.write.Admission;
import io.kvsep.internal.write.CommitPipeline;
import io.kvsep.internal.write.DroppedKeyspaces;
import io.kvsep.internal.write.IntervalSyncs;
import io.kvsep.internal.write.KeyspaceCatalog;
import io.kvsep.internal.write.LogTail;
import io.kvsep.internal.write.MemtableWriter;
import io.kvsep.internal.write.SegmentRotation;
import io.kvsep.internal.write.StoreWrites;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** One open store: opens, connects, maintains and closes its parts. Thread safe. */
public final class StorageEngine implements AutoCloseable {
  private static final long TICK_NANOS = 100_000_000;

  /** The active segment is reordered if it holds at least one in this many live bytes. */
  private static final long LIVE_PER_ORDERED_BYTE = 64;

  private final EngineConfig config;
  private final MemoryLedger ledger;
  private final Epochs<ReadContext> epochs;
  private final TableCache tableCache;
  private final ColdReadPolicy cold;
  private final SegmentDirectory segments;
  private final FailureState failure = new FailureState();
  private final StoreReads reads;
  private final StoreWrites writes;
  private final StorageLock lock;
  private final VersionSet versions;
  private final FileRemover remover;
  private final CurrentReadState currentState;
  private final LogWriter logWriter;
  private final LogTail logTail;
  private final SnapshotRegistry snapshots;
  private final CompactionScheduler background;
  private final ReclaimScheduler reclaim;
  private final LogSpace logSpace;
  private final SegmentRotation rotation;
  private final MemtableWriter memtables;
  private final KeyspaceCatalog keyspaces;
  private final StoreBackups backups;
  private final BulkLoads loads;
  private final ChangeLog changes;
  private final CommitPipeline pipeline;
  private final IntervalSyncs syncs;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final CountDownLatch closing = new CountDownLatch(1);
  private final ArrayDeque<Runnable> releases = new ArrayDeque<>();
  private final long replayedBytes;
  private final long tornBytes;

  /**
   * Opens or creates a store. On failure closes the storage. A store that is refused is unchanged;
   * one in which a device operation failed later may be recovered in part, and can be opened again.
   */
  public static StorageEngine open(EngineConfig config) {
    return open(config, new SharedMemory(config.shape()));
  }

  /**
   * Opens or creates a store. On failure the files are unchanged and the storage is closed.
   *
   * @throws IllegalStateException if the memory admits no more stores
   */
  public static StorageEngine open(EngineConfig config, SharedMemory shared) {
    ChronicleLogging.silence();
    boolean opened = false;
    StoreMemory memory = null;
    try {
      memory = shared.join();
      StorageEngine engine = new StorageEngine(config, shared, memory);
      opened = true;
      return engine;
    } catch (IOException | InternalError e) {
      throw PageFaults.error("cannot open " + config.storage().location(), e);
    } finally {
      if (!opened) {
        // Must not replace the exception in flight.
        CleanupSteps attempts = new CleanupSteps();
        if (attempts.run(config.scheduler()::close)) {
          attempts.run(() -> closeFile(config.storage()));
          shared.leave(memory);
        }
      }
    }
  }

  private StorageEngine(EngineConfig given, SharedMemory shared, StoreMemory memory)
      throws IOException {
    config = failStop(given, failure);
    ledger = memory.ledger();
    StoreOpener opener = new StoreOpener(config, ledger);
    lock = opener.lock();
    boolean opened = false;
    VersionSet openedVersions = null;
    try {
      releases.push(() -> shared.leave(memory));
      cold = new ColdReadPolicy(config.host().memory(), config.storage()::load);
      segments = new SegmentDirectory(cold);
      epochs = new Epochs<>(ReadContext.ofSlots(config, memory));
      releases.push(epochs::free);
      releases.push(segments::free);
      remover = new FileRemover(config, epochs, segments);
      tableCache = newTableCache(shared);
      openedVersions = opener.openVersions(remover, tableCache);
      versions = openedVersions;
      opener.checkFiles(versions);
      LogRecovery recovery =
          new LogRecovery(config.storage(), versions.storeId(), versions.current());
      recovery.examine();
      opener.checkLog(versions, recovery);
      replayedBytes = recovery.replayedBytes();
      tornBytes = recovery.tornBytes();
      if (!config.mode().readOnly()) {
        opener.rewriteEnd(versions, recovery);
      }
      opener.openSegments(versions, recovery, segments, epochs);
      currentState = new CurrentReadState(epochs, versions::current, config.scheduler(), failure);
      logWriter = new LogWriter(config.storage(), versions.storeId(), epochs, ledger);
      releases.push(logWriter::free);
      logTail = new LogTail(config, logWriter, segments, versions, currentState, failure);
      snapshots = new SnapshotRegistry(recovery.writtenSequence(), config.ticker());
      RefreshTargets targets = new RefreshTargets(versions, segments, epochs);
      logSpace = new LogSpace(segments, versions, remover);
      background = backgroundWork(targets);
      ReclaimPressure pressure =
          new ReclaimPressure(versions, config.reclaim(), logSpace, logWriter, background);
      memtables = new MemtableWriter(config, currentState, logWriter, segments, memory, background);
      releases.push(memtables::close);
      releases.push(this::closeTables);
      ValueReader values = new ValueReader(segments);
      reads = new StoreReads(epochs, currentState, snapshots, values, config, ledger);
      DroppedKeyspaces shut = new DroppedKeyspaces(snapshots);
      pipeline = commitPipeline(pressure, shut, recovery.lastSequence());
      rotation =
          new SegmentRotation(
              config, pipeline, logTail, memtables, versions, logSpace, currentState);
      reclaim = reclaimWork(pressure, targets);
      syncs = new IntervalSyncs(config, logTail, failure);
      writes = new StoreWrites(config, memory, pipeline, syncs, reads);
      keyspaces = new KeyspaceCatalog(versions, currentState, failure, writes, shut, logTail);
      loads = bulkLoads(memory);
      backups = storeBackups();
      changes = changeLog();
      releases.push(writes::free);
      currentState.start(List.of(memtables.firstMemtable(versions.current().replayFrom())));
      releases.push(this::closeReads);
      replay(recovery);
      startTimers();
      opened = true;
    } finally {
      if (!opened) {
        abandon(openedVersions);
      }
    }
  }

  /** Makes all commits before the call durable. */
  public void sync() {
    maintain(logTail::sync);
  }

  public void flush() {
    maintain(
        () -> {
          rotation.flushAll();
          rotation.dropDead();
        });
  }

  /** Flushes and compacts everything readable, then throws if a table is damaged. */
  public void compact() {
    maintain(
        () -> {
          RuntimeException left = mergeTables();
          orderValues();
          rotation.dropDead();
          if (left != null) {
            throw left;
          }
        });
  }

  /** Flushes and merges all tables; moves no values. */
  public void compactTables() {
    maintain(
        () -> {
          mergeTables();
          rotation.dropDead();
        });
  }

  private @Nullable RuntimeException mergeTables() {
    rotation.flushAll();
    return background.compactAll();
  }

  /** Includes the active segment if its values are worth a file. */
  private void orderValues() {
    long live = versions.current().liveBytes();
    rotation.sealWithLive(
        Math.max(config.reclaim().goal().slackBytes(), live / LIVE_PER_ORDERED_BYTE));
    reclaim.orderValues();
    background.refreshPointers();
  }

  /** Throws if the store has failed or its directory was replaced. Too costly for every write. */
  private void checkDirectory() {
    lookAtDirectory();
    failure.check();
  }

  private void lookAtDirectory() {
    if (!config.mode().readOnly()) {
      failure.look(config.storage());
    }
  }

  private void maintain(Runnable work) {
    writes.maintain(
        "cannot maintain the store",
        () -> {
          checkDirectory();
          work.run();
          return true;
        });
  }

  public ReclaimReport reclaim() {
    return writes.maintain("cannot reclaim space", this::reclaimAll);
  }

  private ReclaimReport reclaimAll() {
    checkDirectory();
    long start = config.ticker().nanos();
    Version first = versions.current();
    ReclaimStart before = ReclaimStart.of(first, logSpace.bytesInForce(first), reclaim);
    mergeTables();
    rotation.dropDead();
    rotation.sealWithGarbage(Math.max(1, config.reclaim().goal().retainedPart()));
    rotation.flushAll();
    reclaim.runToEnd();
    Version last = versions.current();
    return before.report(
        last, logSpace.bytesInForce(last), reclaim, config.ticker().nanos() - start);
  }

  /** Checks every byte of the current version. Ends when the store is closed. */
  public VerifyReport verify() {
    VerifyJob job =
        new VerifyJob(config, versions, segments, remover, epochs, ledger, loads::files);
    return writes.inspect("cannot verify the store", () -> job.run(this::requireOpen));
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new StoreClosedException("the store was closed meanwhile");
    }
  }

  public StoreStats stats() {
    return epochs.inside(context -> statsNow());
  }

  private StoreStats statsNow() {
    ReadState readState = currentState.get();
    IndexTotals totals = IndexTotals.of(readState);
    LiveTables tables = versions.liveTables();
    TableTotal waiting = remover.waitingTables();
    StoreStats.Pinned pinned =
        logSpace.pinned(tables.pinned().plus(waiting), currentState.pinnedMemtableBytes());
    long logBytes = logSpace.bytes();
    long logLiveBytes = logSpace.liveBytes(readState.version);
    long tableBytes = tables.all().bytes() + waiting.bytes();
    long needed = logLiveBytes + tableBytes - pinned.tableBytes();
    long movedBytes = reclaim.bytesWritten() + background.valueBytesWritten();
    long logBytesWritten = logWriter.bytesWritten() + movedBytes + loads.valueBytesWritten();
    long bytesWritten =
        logBytesWritten
            + background.tableBytesWritten()
            + loads.tableBytesWritten()
            + versions.bytesWritten();
    long userBytes = pipeline.userBytes();
    return new StoreStats(
        totals.entries(),
        totals.keyBytes(),
        logBytes,
        logLiveBytes,
        logSpace.fileCount(),
        tableBytes,
        ledger.bytesByPurpose(),
        ledger.peakBytes(),
        totals.levels(),
        userBytes,
        bytesWritten,
        logBytesWritten,
        userBytes == 0 ? 0 : bytesWritten / (double) userBytes,
        needed == 0 ? 1 : (logBytes + tableBytes) / (double) needed,
        pipeline.commits(),
        logWriter.syncs(),
        background.flushes(),
        background.compactions(),
        memtables.stalls().count(),
        memtables.stalls().nanos(),
        Math.max(0, cacheReads() - tableCache.misses()),
        tableCache.misses(),
        snapshots.open(),
        reads.openCursors(),
        snapshots.oldestNanos(),
        reads.oldestCursorNanos(),
        pinned,
        reclaim.stats(readState.version),
        replayedBytes,
        tornBytes,
        failure.hasFailed());
  }

  /** The value-log files in ascending id order. */
  public List<SegmentStats> segments() {
    return epochs.inside(
        context -> {
          currentState.get();
          return logSpace.files();
        });
  }

  @Override
  public void close() {
    if (epochs.isInside()) {
      throw new IllegalStateException("close() inside a read of the same store");
    }
    if (loads.isInside()) {
      throw new IllegalStateException("close() by the iterator of a bulk load");
    }
    if (writes.isInside()) {
      throw new IllegalStateException("close() by the stream of a backup or restore");
    }
    if (!closed.compareAndSet(false, true)) {
      Uninterruptibles.await(closing);
      return;
    }
    try {
      closeAll();
    } finally {
      closing.countDown();
    }
  }

  private void closeAll() {
    CleanupSteps attempts = new CleanupSteps();
    memtables.endWaits();
    boolean writersGone = attempts.run(writes::close);
    attempts.run(this::checkDirectory);
    if (!config.mode().readOnly() && !failure.hasFailed()) {
      // First the steps that need no disk space, so that a full disk loses nothing.
      attempts.run(logTail::sync);
      attempts.run(() -> pipeline.exclusively(logTail::leaveRemains));
      attempts.run(pipeline::recoverNow);
      attempts.run(rotation::flushAll);
      attempts.run(logTail::sync);
      attempts.run(rotation::dropDead);
      attempts.run(logTail::close);
    }
    background.cancel();
    reclaim.cancel();
    boolean jobsEnded = attempts.run(config.scheduler()::close);
    if (writersGone && jobsEnded) {
      freeAll(attempts);
      attempts.run(() -> closeFile(versions));
      attempts.run(() -> closeFile(lock));
      attempts.run(() -> closeFile(config.storage()));
    } else {
      // Threads may still use all of it, and write files that the lock protects.
      attempts.run(currentState::hide);
    }
    attempts.throwFirst();
  }

  public StoreReads reads() {
    return reads;
  }

  public StoreWrites writes() {
    return writes;
  }

  public EngineTransaction begin() {
    return new EngineTransaction(reads, writes, keyspaces, config.clock());
  }

  public EngineWriteBuffer buffer() {
    return new EngineWriteBuffer(reads, writes, keyspaces, config.clock());
  }

  public KeyspaceCatalog keyspaces() {
    return keyspaces;
  }

  public StoreBackups backups() {
    return backups;
  }

  public BulkLoads loads() {
    return loads;
  }

  public ChangeLog changes() {
    return changes;
  }

  /** Owned off-heap bytes; zero after {@link #close}. */
  public long memoryBytes() {
    return ledger.totalBytes();
  }

  private long cacheReads() {
    return tableCache.lookups()
        + epochs.sum(context -> context.tableReads() + context.lookup.packedReads());
  }

  private TableCache newTableCache(SharedMemory shared) {
    return new TableCache(shared.tables(), epochs::retire, ledger, cold);
  }

  private static EngineConfig failStop(EngineConfig given, FailureState failure) {
    return given.with(
        new FailStopStorage(given.storage(), failure::fail),
        new FailStopScheduler(given.scheduler(), failure));
  }

  private CommitPipeline commitPipeline(
      ReclaimPressure pressure, DroppedKeyspaces shut, long lastSequence) {
    Admission admission =
        new Admission(config, currentState, logTail, memtables, background, pressure);
    return new CommitPipeline(
        logTail, memtables, admission, failure, snapshots, shut, lastSequence);
  }

  private CompactionScheduler backgroundWork(RefreshTargets targets) {
    FlushReordering flushReordering =
        new FlushReordering(
            config, versions, segments, epochs, ledger, logSpace::bytes, () -> changes.readFrom());
    return new CompactionScheduler(
        config,
        currentState,
        versions,
        logTail,
        snapshots,
        failure,
        ledger,
        targets,
        flushReordering);
  }

  private StoreBackups storeBackups() {
    return new StoreBackups(
        config, reads, writes, keyspaces, versions, logTail, rotation, failure, ledger, loads);
  }

  private ChangeLog changeLog() {
    ChangeReader.Source source =
        new ChangeReader.Source(
            epochs, currentState, versions, segments, snapshots, logWriter, config.ticker());
    return new ChangeLog(writes, logTail, failure, source);
  }

  private BulkLoads bulkLoads(StoreMemory memory) {
    LoadInstallation installation =
        new LoadInstallation(
            config,
            versions,
            segments,
            epochs,
            ledger,
            failure,
            currentState,
            pipeline,
            memtables,
            logWriter,
            logTail,
            background,
            keyspaces,
            rotation::flushAll);
    return new BulkLoads(
        config, writes, snapshots, versions, background, failure, memory, installation);
  }

  private ReclaimScheduler reclaimWork(ReclaimPressure pressure, RefreshTargets targets) {
    ReclaimContext context =
        new ReclaimContext(config, currentState, versions, segments, epochs, failure, ledger);
    ValueReordering ordering =
        new ValueReordering(config, ledger, logSpace, () -> changes.readFrom());
    return new ReclaimScheduler(context, background, rotation, pressure, targets, ordering);
  }

  private void replay(LogRecovery recovery) throws IOException {
    boolean readOnly = config.mode().readOnly();
    if (!readOnly) {
      List<Segment> tail = new ArrayList<>();
      for (LogRecovery.SoundPart part : recovery.parts()) {
        Segment segment = segments.find(part.segment());
        if (segment != null) {
          tail.add(segment);
        }
      }
      logWriter.resume(tail, recovery.lastSequence());
      logTail.resume(segments.find(recovery.spareSegment()));
    }
    try (FrameEntryReader entries =
        new FrameEntryReader(ledger, config.values().inlineBytesMax())) {
      recovery.replay(entries, memtables::replay);
    }
    if (recovery.replayedBytes() > 0 && !readOnly) {
      memtables.sealMemtable(recovery.end());
      background.flushWaitingNow();
    }
  }

  private void startTimers() {
    boolean readOnly = config.mode().readOnly();
    // A read-only store collects too, or memory that a long read retains would block the caches.
    config.scheduler().repeat(TICK_NANOS, readOnly ? this::tickToRead : this::tick);
    updateCold();
    if (!readOnly) {
      syncs.start();
      background.compactionNeeded();
    }
  }

  private void tickToRead() {
    updateCold();
    epochs.collect();
  }

  private void updateCold() {
    cold.update(segments.bytes() + versions.liveTables().all().bytes());
  }

  private void tick() {
    CleanupSteps steps = new CleanupSteps();
    steps.run(this::lookAtDirectory);
    steps.run(syncs::tick);
    steps.run(this::tickToRead);
    steps.run(remover::tick);
    steps.run(() -> rotation.tick(pipeline.commits()));
    boolean quiet = rotation.isQuiet() && !loads.isAtWork();
    steps.run(() -> reclaim.tick(quiet));
    steps.run(() -> background.tick(quiet));
    steps.throwFirst();
  }

  /** Cleans up after a failed open, whose exception is in flight. */
  private void abandon(@Nullable VersionSet openedVersions) {
    CleanupSteps attempts = new CleanupSteps();
    if (!attempts.run(config.scheduler()::close)) {
      return;
    }
    freeAll(attempts);
    if (openedVersions != null) {
      attempts.run(openedVersions::close);
    }
    attempts.run(() -> closeFile(lock));
  }

  private void freeAll(CleanupSteps attempts) {
    while (!releases.isEmpty()) {
      attempts.run(releases.pop());
    }
  }

  /** Admits no more readers; waits for those inside. */
  private void closeReads() {
    CleanupSteps attempts = new CleanupSteps();
    attempts.run(currentState::close);
    attempts.run(reads::closeCursors);
    boolean drained = attempts.run(epochs::drain);
    if (!drained) {
      // If a release has failed and not the wait, nothing is left to wait for.
      drained = attempts.run(epochs::drain);
    }
    if (!drained) {
      // Readers may still use the rest.
      releases.clear();
    }
    attempts.throwFirst();
  }

  private void closeTables() {
    CleanupSteps attempts = new CleanupSteps();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : versions.current().tables(level)) {
        attempts.run(table::close);
      }
    }
    attempts.throwFirst();
  }

  private static void closeFile(AutoCloseable file) {
    try {
      file.close();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new StorageException("cannot close the store's files", e);
    }
  }
}
