package io.kvsep.internal.write;

import io.kvsep.error.StorageException;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemtableBudget;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.StoreMemory;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.FrameEntryReader;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Inserts committed frames into the memtable, and starts the next one. Used by the commit leader,
 * or recovery.
 */
public final class MemtableWriter implements AutoCloseable {
  /** What to do with a frame when no memtable can be flushed. */
  private enum WhenStuck {
    /** Nothing was written yet. */
    REFUSE,
    /** The frame is in the log; its commit must not fail. */
    WAIT,
    /** Recovery found the frame; failing the open loses nothing. */
    GIVE_UP
  }

  private static final int GROWTH = 4;

  private final CurrentReadState currentState;
  private final LogWriter logWriter;
  private final SegmentDirectory directory;
  private final MemoryLedger ledger;
  private final MemtableBudget.Share budget;
  private final EngineConfig.Shape shape;
  private final RandomGenerator random;
  private final CompactionScheduler background;
  private final FrameEntryReader entries;
  private final boolean readOnly;
  private final Memtable.Splice splice = new Memtable.Splice();
  private final WriteStalls stalls;
  private long coveredLogBytes;
  private volatile boolean closing;

  /** Memory for the next memtable. */
  private MemtableBudget.@Nullable Grant granted;

  /** Length of the next memtable; 0 for the first after a pause. */
  private long nextBytes;

  public MemtableWriter(
      EngineConfig config,
      CurrentReadState currentState,
      LogWriter logWriter,
      SegmentDirectory directory,
      StoreMemory memory,
      CompactionScheduler background) {
    this.currentState = currentState;
    this.logWriter = logWriter;
    this.directory = directory;
    this.ledger = memory.ledger();
    this.budget = memory.memtables();
    this.shape = config.shape();
    this.random = config.host().random();
    this.background = background;
    this.readOnly = config.mode().readOnly();
    this.stalls = new WriteStalls(config, currentState);
    this.entries = new FrameEntryReader(ledger, config.values().inlineBytesMax());
  }

  public WriteStalls stalls() {
    return stalls;
  }

  long coveredLogBytes() {
    return coveredLogBytes;
  }

  /**
   * Reserves memory for the next memtable. Without any, hands the active one to the flush, which
   * may give some back.
   *
   * @param bytes estimated need of the next group
   * @return whether memory is reserved
   */
  boolean reserve(long bytes) {
    return reserve(bytes, logWriter.end());
  }

  private boolean reserve(long bytes, LogPosition logStart) {
    if (granted == null) {
      long wanted = wantedBytes(bytes);
      granted = budget.take(wanted);
      if (granted == null && !currentState.get().active().isPlaceholder()) {
        nextBytes = wanted;
        seal(logStart);
      }
    }
    return granted != null;
  }

  /** Starts a memtable for the next group. If that fails, the group is refused. */
  void startMemtable() {
    switchMemtable(logWriter.end(), WhenStuck.REFUSE);
  }

  /**
   * Hands the active memtable to the flush. The next one gets its memory when something is written.
   */
  public void sealMemtable(LogPosition logStart) {
    makeRoom(WhenStuck.REFUSE);
    seal(logStart);
    nextBytes = 0;
  }

  /** Whether the active memtable should be flushed early, because other stores need its memory. */
  boolean isMemoryWanted() {
    return budget.isWantedElsewhere();
  }

  /** Starts a memtable, unless the active one is empty. */
  void sealActive() {
    if (!currentState.get().active().isEmpty()) {
      sealMemtable(logWriter.end());
    }
  }

  /** Writes out all memtables but the active one, on the calling thread. */
  void flushSealed() {
    background.flushWaitingNow();
  }

  /** Inserts the records of a frame that is in the log. */
  void insert(Frame frame) {
    frame.readInto(entries, directory);
    insertAll(entries, WhenStuck.WAIT);
    if (frame.isStreamed()) {
      // Read back from the file, without a checksum.
      Region.requirePagesRead();
    }
    coveredLogBytes += frame.length();
  }

  public void replay(FrameEntryReader source) {
    insertAll(source, WhenStuck.GIVE_UP);
  }

  /**
   * Ends waits for failing flushes, as close waits for writers and only close may help. The rest of
   * a frame then takes all memtables it needs.
   */
  public void endWaits() {
    closing = true;
  }

  /** A frame may fill several memtables; it is replayed whole until all are flushed. */
  private void insertAll(FrameEntryReader source, WhenStuck whenStuck) {
    for (Entry entry = source.next(); entry != null; entry = source.next()) {
      while (!currentState.get().active().insert(entry, splice)) {
        Memtable active = currentState.get().active();
        if (active.isEmpty() && !active.isPlaceholder()) {
          throw new IllegalStateException("an entry is longer than a memtable");
        }
        switchMemtable(source.frameStart(), whenStuck);
      }
    }
  }

  public Memtable firstMemtable(LogPosition logStart) {
    return placeholder(logStart, Memtable.Outlook.NONE);
  }

  private Memtable placeholder(LogPosition logStart, Memtable.Outlook outlook) {
    return Memtable.placeholder(ledger, logStart, random.nextLong(), outlook);
  }

  /** A memtable that was filled is followed by a larger one. */
  private long wantedBytes(long needed) {
    Memtable active = currentState.get().active();
    long usual;
    if (active.isPlaceholder()) {
      usual = nextBytes == 0 ? budget.firstBytes(shape.memtables().bytes()) : nextBytes;
    } else {
      boolean filled = active.allocatedBytes() >= active.capacityBytes() / 2;
      usual = filled ? GROWTH * active.capacityBytes() : active.capacityBytes();
    }
    return Math.min(shape.memtables().bytes(), Math.max(usual, needed));
  }

  /**
   * While flushes fail, a commit that must not fail takes one memtable beyond the limit before it
   * waits: enough for a small excess over the estimate. A read-only store keeps all memtables.
   */
  private void switchMemtable(LogPosition logStart, WhenStuck whenStuck) {
    boolean mayTake = readOnly;
    if (!readOnly) {
      boolean hasRoom = currentState.get().active().isPlaceholder() || makeRoom(whenStuck);
      mayTake = !hasRoom || !await(() -> reserve(0, logStart), whenStuck);
    }
    if (mayTake && granted == null) {
      granted = budget.takeAnyway(wantedBytes(0));
    }
    Memtable active = currentState.get().active();
    Memtable next =
        Memtable.in(
            Objects.requireNonNull(granted), ledger, logStart, random.nextLong(), active.outlook());
    granted = null;
    if (active.isPlaceholder()) {
      currentState.replaceActive(next);
    } else {
      currentState.addMemtable(next);
    }
    coveredLogBytes = 0;
    entries.setInlineValueBytesMax(background.inlineValueBytesMax());
    if (!readOnly) {
      background.flushNeeded();
    }
  }

  private boolean makeRoom(WhenStuck whenStuck) {
    background.flushNeeded();
    return await(
        () -> currentState.get().memtables.size() < shape.memtables().countMax(), whenStuck);
  }

  private void seal(LogPosition logStart) {
    currentState.addMemtable(placeholder(logStart, currentState.get().active().outlook()));
    coveredLogBytes = 0;
    background.flushNeeded();
  }

  @Override
  public void close() {
    if (granted != null) {
      granted.release();
    }
    entries.close();
  }

  /** Waits for flushes; returns false if none succeeds and the commit must not fail. */
  private boolean await(BooleanSupplier hasRoom, WhenStuck whenStuck) {
    if (hasRoom.getAsBoolean()) {
      return true;
    }
    stalls.begin();
    try {
      currentState.prepareFlushes();
      Throwable tried = null;
      long seen = currentState.changes();
      while (!hasRoom.getAsBoolean()) {
        background.check();
        Throwable error = background.flushError();
        if (whenStuck == WhenStuck.WAIT && error != null && mayExceed()) {
          return false;
        }
        if (whenStuck != WhenStuck.REFUSE && error != null && error != tried) {
          // The failure may be a missing thread, so this one tries: once per background attempt,
          // since each may fill the disk again.
          background.flushWaiting();
          tried = background.flushError();
          continue;
        }
        if (whenStuck != WhenStuck.WAIT && error != null) {
          throw new StorageException("memtables cannot be written out", error);
        }
        currentState.awaitChange(seen);
        seen = currentState.changes();
      }
      return true;
    } finally {
      stalls.end(WriteStalls.Cause.MEMTABLES_FULL, 0);
    }
  }

  private boolean mayExceed() {
    return closing || currentState.get().memtables.size() <= shape.memtables().countMax();
  }
}
