package io.kvsep.internal.reclaim;

import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.background.WriteRateWindow;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.reclaim.ReclaimPicker.Balance;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.LogWriter;
import org.jspecify.annotations.Nullable;

/**
 * How much garbage the value log holds in relation to what it may hold. Computed once a version.
 * Thread safe.
 */
public final class ReclaimPressure {
  /**
   * Of one version.
   *
   * @param room for garbage of all kinds, in bytes
   * @param startBytes how much had been written to the log when there was no garbage, if all that
   *     is garbage had been written since
   */
  private record Measured(Version version, double pressure, double room, double startBytes) {}

  /** While writers are at it, there may be so many times what reclaim comes back to. */
  private static final double ROOM = 2;

  private final VersionSet versions;
  private final EngineConfig.Reclaim limits;
  private final ReclaimPicker picker;
  private final LogSpace space;
  private final LogWriter log;
  private final CompactionScheduler background;
  private final WriteRateWindow recent;
  private volatile @Nullable Measured last;
  private volatile boolean relieved;

  public ReclaimPressure(
      VersionSet versions,
      EngineConfig.Reclaim limits,
      LogSpace space,
      LogWriter log,
      CompactionScheduler background) {
    this.versions = versions;
    this.limits = limits;
    this.picker = new ReclaimPicker(limits.goal());
    this.space = space;
    this.log = log;
    this.background = background;
    this.recent = new WriteRateWindow(log::bytesWritten);
  }

  /** Called ten times a second. */
  void tick() {
    recent.tick();
  }

  /**
   * What garbage there may be at this moment. What comes of writes of the last two seconds is let
   * be in a store so small that they are a large part of it: its files would be copied over and
   * over while they are about to be overwritten.
   */
  ReclaimGoal goal() {
    return limits.goal().letting(Math.min(limits.pendingBytesMax(), recent.bytes()));
  }

  /** 0 when a job has just become due, 1 when as much is there as may be; no bounds. */
  public double get() {
    return measured().pressure;
  }

  /**
   * Part of the room for garbage that is taken by all there may be: what is known of, what hides
   * behind newer versions, and what was written since. Files that are there for an open cursor
   * alone come on top of what there may be: waiting gives nothing of them back.
   */
  public double crowding() {
    Measured now = measured();
    return (log.bytesWritten() - now.startBytes) / now.room;
  }

  private Measured measured() {
    Version version = versions.current();
    Measured measured = last;
    if (measured == null || measured.version != version) {
      measured = measure(version);
      last = measured;
    }
    return measured;
  }

  /** Whether a job is at work, so that waiting helps. */
  public boolean isRelieved() {
    return relieved;
  }

  void relieved(boolean working) {
    relieved = working;
  }

  private Measured measure(Version version) {
    Balance balance = picker.balance(version);
    ReclaimGoal goal = goal();
    double due = goal.dueBytes(balance.neededBytes());
    double most = goal.mostBytes(balance.neededBytes());
    double pressure = (balance.garbageBytes() - due) / Math.max(1, most - due);
    double needed = Math.max(0, version.liveBytes() - background.hiddenInLog(version));
    double room = Math.max(1, ROOM * goal.mostBytes((long) needed));
    double garbage = space.bytesInForce(version) - needed - balance.retainedBytes();
    double startBytes = log.bytesWritten() - garbage;
    return new Measured(version, pressure, room, startBytes);
  }
}
