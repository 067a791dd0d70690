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
 * Garbage in the value log relative to the allowed amount, computed once per version. Thread safe.
 */
public final class ReclaimPressure {
  /**
   * @param room allowed garbage of all kinds, in bytes
   * @param startBytes the log's counter of written bytes minus all garbage
   */
  private record Measured(Version version, double pressure, double room, double startBytes) {}

  /** While writers are active, allowed garbage is this multiple of reclaim's target. */
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
   * The amount of garbage currently allowed. In a small store this includes garbage from the writes
   * of the last two seconds; otherwise files about to be overwritten would be copied repeatedly.
   */
  ReclaimGoal goal() {
    return limits.goal().letting(Math.min(limits.pendingBytesMax(), recent.bytes()));
  }

  /** 0 if a job has just become due, 1 at the maximum of allowed garbage; unbounded. */
  public double get() {
    return measured().pressure;
  }

  /**
   * Fraction of the allowed garbage in use: known garbage, garbage hidden by newer versions, and
   * bytes written since. Files kept only for an open cursor are not counted, because waiting does
   * not free them.
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

  /** Whether a job is running, so that waiting helps. */
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
