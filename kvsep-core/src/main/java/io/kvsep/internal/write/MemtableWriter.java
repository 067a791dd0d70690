package io.kvsep.internal.write;

import io.kvsep.error.StorageException;
import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.Frame;
import io.kvsep.internal.vlog.FrameEntryReader;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.util.random.RandomGenerator;

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

  private final CurrentReadState currentState;
  private final LogWriter logWriter;
  private final SegmentDirectory directory;
  private final MemoryLedger ledger;
  private final EngineConfig.Shape shape;
  private final RandomGenerator random;
  private final CompactionScheduler background;
  private final FrameEntryReader entries;
  private final boolean readOnly;
  private final Memtable.Splice splice = new Memtable.Splice();
  private final WriteStalls stalls;
  private long coveredLogBytes;
  private volatile boolean closing;

  public MemtableWriter(
      EngineConfig config,
      CurrentReadState currentState,
      LogWriter logWriter,
      SegmentDirectory directory,
      MemoryLedger ledger,
      CompactionScheduler background) {
    this.currentState = currentState;
    this.logWriter = logWriter;
    this.directory = directory;
    this.ledger = ledger;
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

  /** Starts a memtable for the next group, which is refused if that fails. */
  void startMemtable() {
    switchMemtable(logWriter.end());
  }

  /** Hands the active memtable to the flush and starts a new one. */
  public void switchMemtable(LogPosition logStart) {
    switchMemtable(logStart, WhenStuck.REFUSE);
  }

  /** Starts a memtable, unless the active one is empty. */
  void sealActive() {
    if (!currentState.get().active().isEmpty()) {
      switchMemtable(logWriter.end());
    }
  }

  /** Writes out all memtables but the active one, on the calling thread. */
  void flushSealed() {
    background.flushWaitingNow();
  }

  /** Inserts the records of a frame that is in the log. */
  void insert(Frame frame) {
    entries.over(frame, directory);
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
        if (currentState.get().active().isEmpty()) {
          throw new IllegalStateException("an entry is longer than a memtable");
        }
        switchMemtable(source.frameStart(), whenStuck);
      }
    }
  }

  public Memtable firstMemtable(LogPosition logStart) {
    return new Memtable(ledger, shape.memtables().bytes(), logStart, random.nextLong());
  }

  private Memtable newMemtable(LogPosition logStart) {
    Memtable before = currentState.get().active();
    return new Memtable(ledger, shape.memtables().bytes(), logStart, random.nextLong(), before);
  }

  /**
   * While flushes fail, a commit that must not fail takes one memtable beyond the limit before it
   * waits: enough for a small excess over the estimate. A read-only store keeps all memtables.
   */
  private void switchMemtable(LogPosition logStart, WhenStuck whenStuck) {
    if (readOnly) {
      currentState.addMemtable(newMemtable(logStart));
      return;
    }
    background.flushNeeded();
    if (currentState.get().memtables.size() >= shape.memtables().countMax()) {
      awaitFlush(whenStuck);
    }
    currentState.addMemtable(newMemtable(logStart));
    coveredLogBytes = 0;
    background.flushNeeded();
  }

  @Override
  public void close() {
    entries.close();
  }

  private void awaitFlush(WhenStuck whenStuck) {
    stalls.begin();
    try {
      currentState.prepareFlushes();
      Throwable tried = null;
      long seen = currentState.changes();
      while (currentState.get().memtables.size() >= shape.memtables().countMax()) {
        background.check();
        Throwable error = background.flushError();
        if (whenStuck == WhenStuck.WAIT && error != null && mayExceed()) {
          break;
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
    } finally {
      stalls.end(WriteStalls.Cause.MEMTABLES_FULL, 0);
    }
  }

  private boolean mayExceed() {
    return closing || currentState.get().memtables.size() == shape.memtables().countMax();
  }
}
