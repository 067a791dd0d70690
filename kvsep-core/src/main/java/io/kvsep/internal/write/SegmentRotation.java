package io.kvsep.internal.write;

import io.kvsep.internal.background.ActiveSegment;
import io.kvsep.internal.background.WriteRateWindow;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.reclaim.LogSpace;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Ends the active segment before it is full, to reclaim its space. Every call excludes writers. */
public final class SegmentRotation implements ActiveSegment {
  /** Ticks without a commit until the store is quiet. */
  private static final int QUIET_TICKS = 20;

  private static final int TICKS_BETWEEN_TRIES_MAX = 32;

  /** Fewer unflushed bytes are not worth a table. */
  private static final long FLUSHED_BYTES_MIN = 1 << 20;

  /**
   * With less than this part of the unflushed bytes written recently, filling the memtable takes
   * minutes.
   */
  private static final int TRICKLE_PARTS = 64;

  private final CommitPipeline pipeline;
  private final LogWriter logWriter;
  private final LogTail logTail;
  private final MemtableWriter memtables;
  private final VersionSet versions;
  private final LogSpace space;
  private final CurrentReadState currentState;
  private final boolean retains;

  // Accessed only by the timer.
  private long commitsAtTick;
  private int quietTicks;
  private boolean flushFailed;
  private final WriteRateWindow recent;
  private final RetryBackoff retryTicks = new RetryBackoff(TICKS_BETWEEN_TRIES_MAX);

  public SegmentRotation(
      EngineConfig config,
      CommitPipeline pipeline,
      LogTail logTail,
      MemtableWriter memtables,
      VersionSet versions,
      LogSpace space,
      CurrentReadState currentState) {
    this.pipeline = pipeline;
    this.logWriter = logTail.logWriter();
    this.logTail = logTail;
    this.memtables = memtables;
    this.versions = versions;
    this.space = space;
    this.currentState = currentState;
    this.recent = new WriteRateWindow(logWriter::bytesWritten);
    this.retains = config.reclaim().goal().retainedBytes() > 0;
  }

  /**
   * Flushes the memtable after few writes, because only a flush shows what is garbage. Called by
   * the timer.
   */
  public void tick(long commits) {
    quietTicks = commits == commitsAtTick ? quietTicks + 1 : 0;
    commitsAtTick = commits;
    recent.tick();
    long unflushed = space.unflushedBytes(versions.current());
    boolean isWorthIt = memtables.isMemoryWanted() || unflushed >= FLUSHED_BYTES_MIN;
    boolean flushes = isWorthIt && recent.bytes() <= unflushed / TRICKLE_PARTS;
    if (flushes && retryTicks.isDue(flushFailed)) {
      // In advance: the failure may be a lack of memory.
      flushFailed = true;
      flush();
      flushFailed = false;
    }
  }

  /** As of the last tick. */
  public boolean isQuiet() {
    return quietTicks >= QUIET_TICKS;
  }

  private void flush() {
    pipeline.tryExclusively(
        () -> {
          // A second memtable: a flush is running or has failed.
          if (currentState.isOpen()
              && currentState.get().memtables.size() == 1
              && !currentState.get().active().isEmpty()) {
            memtables.sealMemtable(logWriter.end());
          }
        });
  }

  @Override
  public long garbageBytes() {
    Segment active = logWriter.active();
    return active == null ? 0 : garbageIn(active);
  }

  /**
   * Drops the active segment if everything is flushed and no table points into it, as with inline
   * values. Not if the log is retained.
   */
  public void dropDead() {
    if (retains) {
      return;
    }
    pipeline.exclusively(
        () -> {
          Segment active = logWriter.active();
          if (active != null && isFlushed() && versions.current().liveBytes(active.id()) == 0) {
            logTail.detach(active, /* dead= */ true);
            logTail.dropSpare();
          }
        });
  }

  /** Seals the active segment if tables show this much garbage in it. */
  public void sealWithGarbage(long garbageBytesMin) {
    pipeline.exclusively(() -> seal(garbageBytesMin));
  }

  /** Seals the active segment if it is flushed and this much of it is live. */
  public void sealWithLive(long liveBytesMin) {
    pipeline.exclusively(
        () -> {
          Segment active = logWriter.active();
          if (active != null
              && isFlushed()
              && versions.current().liveBytes(active.id()) >= liveBytesMin) {
            logTail.detach(active, /* dead= */ false);
          }
        });
  }

  @Override
  public void trySealWithGarbage(long garbageBytesMin) {
    pipeline.tryExclusively(() -> seal(garbageBytesMin));
  }

  /** Writes everything committed before the call to tables. */
  public void flushAll() {
    if (currentState.get().memtables.size() > 1) {
      // Before the switch, which may otherwise have to wait for a background flush.
      memtables.flushSealed();
    }
    pipeline.exclusively(
        () -> {
          // A failed store may have inserted half a frame, at which the log ends.
          logTail.check();
          memtables.sealActive();
        });
    memtables.flushSealed();
  }

  /**
   * A version whose sealed files hold everything committed before the call, not all synced, and
   * nothing later. The caller releases it.
   */
  public Version endSegment() {
    // Most of it while writers go on.
    flushAll();
    AtomicReference<@Nullable Version> held = new AtomicReference<>();
    pipeline.exclusively(
        () -> {
          logTail.check();
          memtables.sealActive();
          memtables.flushSealed();
          Segment active = logWriter.active();
          if (active != null && logWriter.holdsFrames() && isFlushed()) {
            logTail.detach(active, /* dead= */ false);
          } else if (logWriter.holdsFrames()) {
            logTail.roll();
          }
          logTail.sealEnded();
          held.set(versions.retainCurrent());
        });
    return Objects.requireNonNull(held.get());
  }

  private void seal(long garbageBytesMin) {
    Segment active = logWriter.active();
    if (active == null || garbageIn(active) < garbageBytesMin) {
      return;
    }
    if (isFlushed()) {
      logTail.detach(active, /* dead= */ false);
    } else {
      // Rewritable once the memtable that began in it is flushed.
      logTail.roll();
    }
  }

  private boolean isFlushed() {
    return currentState.get().memtables.size() == 1
        && currentState.get().active().isEmpty()
        && versions.current().replayFrom().equals(logWriter.end());
  }

  private long garbageIn(Segment active) {
    Version version = versions.current();
    LogPosition replayFrom = version.replayFrom();
    return replayFrom.segment() == active.id()
        ? replayFrom.offset() - version.liveBytes(active.id())
        : 0;
  }
}
