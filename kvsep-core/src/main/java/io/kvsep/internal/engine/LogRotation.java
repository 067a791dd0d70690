package io.kvsep.internal.engine;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.LogWriter;
import io.kvsep.internal.vlog.Segment;

/**
 * Ends the active segment of the log before it is full, so that its space can come back. Every call
 * keeps writers out for its time.
 */
final class LogRotation {
  private final CommitPipeline pipeline;
  private final LogWriter log;
  private final LogAppender appender;
  private final IndexWriter index;
  private final VersionSet versions;
  private final LiveView live;
  private final FailureState failure;

  LogRotation(
      CommitPipeline pipeline,
      LogWriter log,
      LogAppender appender,
      IndexWriter index,
      VersionSet versions,
      LiveView live,
      FailureState failure) {
    this.pipeline = pipeline;
    this.log = log;
    this.appender = appender;
    this.index = index;
    this.versions = versions;
    this.live = live;
    this.failure = failure;
  }

  /**
   * Drops the active segment when everything is flushed and no table points into it, as with values
   * that all live beside their keys: otherwise it would stay until it is full.
   */
  void dropDead() {
    pipeline.exclusively(
        () -> {
          Segment active = log.active();
          if (active != null && isFlushed() && versions.current().liveBytes(active.id()) == 0) {
            detach(active, /* dead= */ true);
          }
        });
  }

  /**
   * Seals the active segment if something in it is garbage, as far as tables tell. What is not
   * flushed of it goes to the flush.
   */
  void sealWithGarbage(long garbageBytesMin) {
    pipeline.exclusively(
        () -> {
          Segment active = log.active();
          if (active == null || garbageIn(active) < garbageBytesMin) {
            return;
          }
          if (isFlushed()) {
            detach(active, /* dead= */ false);
          } else {
            appender.roll();
            index.switchMemtable(log.end());
          }
        });
  }

  private boolean isFlushed() {
    return live.get().memtables.size() == 1
        && live.get().active().isEmpty()
        && versions.current().replayFrom().equals(log.end());
  }

  /** Flushed bytes of the active segment that no table points to. */
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
            .sealSegment(active.id(), active.publishedEnd())
            .replayFrom(new LogPosition(active.id() + 1, 0));
    if (dead) {
      edit.removeSegment(active.id());
    }
    failure.guard(() -> versions.apply(edit));
    log.detach();
    live.installVersion(null);
  }
}
