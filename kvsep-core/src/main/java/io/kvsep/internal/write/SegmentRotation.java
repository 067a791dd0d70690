package io.kvsep.internal.write;

import io.kvsep.internal.background.ActiveSegment;
import io.kvsep.internal.background.WriteRateWindow;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.reclaim.LogSpace;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Ends the active segment of the log before it is full, so that its space can come back. Every call
 * keeps writers out for its time.
 */
public final class SegmentRotation implements ActiveSegment {
  /** Ticks without a commit after which a store counts as quiet. */
  private static final int QUIET_TICKS = 20;

  private static final int TICKS_BETWEEN_TRIES_MAX = 32;

  /** Less is not worth a table. */
  private static final long FLUSHED_BYTES_MIN = 1 << 20;

  /**
   * Of what is in memory: where no more was written of late than such a part, it would take minutes
   * until the memtable is full, and so it is not waited for.
   */
  private static final int TRICKLE_PARTS = 64;

  private final CommitPipeline pipeline;
  private final LogWriter log;
  private final LogTail appender;
  private final MemtableWriter index;
  private final VersionSet versions;
  private final LogSpace space;
  private final CurrentReadState live;
  private final FailureState failure;
  private final boolean retains;

  // Of the timer.
  private long commitsAtTick;
  private int quietTicks;
  private boolean flushFailed;
  private final WriteRateWindow recent;
  private final RetryBackoff retryTicks = new RetryBackoff(TICKS_BETWEEN_TRIES_MAX);

  public SegmentRotation(
      EngineConfig config,
      CommitPipeline pipeline,
      LogWriter log,
      LogTail appender,
      MemtableWriter index,
      VersionSet versions,
      LogSpace space,
      CurrentReadState live,
      FailureState failure) {
    this.pipeline = pipeline;
    this.log = log;
    this.appender = appender;
    this.index = index;
    this.versions = versions;
    this.space = space;
    this.live = live;
    this.failure = failure;
    this.recent = new WriteRateWindow(log::bytesWritten);
    this.retains = config.reclaim().goal().retainedBytes() > 0;
  }

  /**
   * Called at intervals: when nothing was written for a while, or hardly anything, what is in
   * memory goes to a table. Only then does it show which of it is garbage.
   *
   * @param commits commits so far
   */
  public void tick(long commits) {
    quietTicks = commits == commitsAtTick ? quietTicks + 1 : 0;
    commitsAtTick = commits;
    recent.tick();
    long unflushed = space.unflushedBytes(versions.current());
    boolean flushes = unflushed >= FLUSHED_BYTES_MIN && recent.bytes() <= unflushed / TRICKLE_PARTS;
    if (flushes && retryTicks.isDue(flushFailed)) {
      // Until it is known better: what it fails of may be that there is no memory.
      flushFailed = true;
      flush();
      flushFailed = false;
    }
  }

  /** Whether nothing was written for a while, as of the last tick. */
  public boolean isQuiet() {
    return quietTicks >= QUIET_TICKS;
  }

  private void flush() {
    pipeline.tryExclusively(
        () -> {
          // With another one waiting, a flush is under way or has failed.
          if (live.isOpen()
              && !failure.hasFailed()
              && live.get().memtables.size() == 1
              && !live.get().active().isEmpty()) {
            index.switchMemtable(log.end());
          }
        });
  }

  @Override
  public long garbageBytes() {
    Segment active = log.active();
    return active == null ? 0 : garbageIn(active);
  }

  /**
   * Drops the active segment when everything is flushed and no table points into it, as with values
   * that all live beside their keys: otherwise it would stay until it is full. Not where the log is
   * retained.
   */
  public void dropDead() {
    if (retains) {
      return;
    }
    pipeline.exclusively(
        () -> {
          Segment active = log.active();
          if (active != null && isFlushed() && versions.current().liveBytes(active.id()) == 0) {
            detach(active, /* dead= */ true);
            appender.dropSpare();
          }
        });
  }

  /** Seals the active segment if so much in it is garbage, as far as tables tell. */
  public void sealWithGarbage(long garbageBytesMin) {
    pipeline.exclusively(() -> seal(garbageBytesMin));
  }

  @Override
  public void trySealWithGarbage(long garbageBytesMin) {
    pipeline.tryExclusively(() -> seal(garbageBytesMin));
  }

  /**
   * A version whose sealed files hold everything committed before the call and nothing of what is
   * committed after it; not all of that is synced. The caller releases it.
   */
  public Version endSegment() {
    AtomicReference<@Nullable Version> held = new AtomicReference<>();
    pipeline.exclusively(
        () -> {
          if (log.holdsFrames()) {
            appender.roll();
          }
          appender.sealEnded();
          held.set(versions.retainCurrent());
        });
    return Objects.requireNonNull(held.get());
  }

  private void seal(long garbageBytesMin) {
    Segment active = log.active();
    if (active == null || garbageIn(active) < garbageBytesMin) {
      return;
    }
    if (isFlushed()) {
      detach(active, /* dead= */ false);
    } else {
      // It can be rewritten once the memtable that began in it is flushed.
      appender.roll();
    }
  }

  private boolean isFlushed() {
    return live.get().memtables.size() == 1
        && live.get().active().isEmpty()
        && versions.current().replayFrom().equals(log.end());
  }

  private long garbageIn(Segment active) {
    Version version = versions.current();
    LogPosition replayFrom = version.replayFrom();
    return replayFrom.segment() == active.id()
        ? replayFrom.offset() - version.liveBytes(active.id())
        : 0;
  }

  private void detach(Segment active, boolean dead) {
    appender.sync();
    VersionEdit edit =
        new VersionEdit()
            .sealSegment(active.id(), active.publishedEnd(), log.lastSequence())
            .replayFrom(new LogPosition(active.id() + 1, 0));
    if (dead) {
      edit.removeSegment(active.id());
    }
    appender.applySealingActive(edit);
    try {
      log.detach();
      live.installVersion(null);
    } catch (RuntimeException | Error e) {
      // What is written to a segment that has ended is not found again.
      throw failure.fail(e);
    }
  }
}
