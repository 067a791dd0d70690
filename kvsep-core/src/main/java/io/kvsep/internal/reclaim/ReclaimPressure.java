package io.kvsep.internal.reclaim;

import io.kvsep.internal.background.CompactionScheduler;
import io.kvsep.internal.background.WriteRateWindow;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.LogWriter;
import org.jspecify.annotations.Nullable;

/** Garbage in the value log relative to the allowed amount. Thread safe. */
public final class ReclaimPressure {
  /**
   * @param allowedBytes allowed garbage of all kinds
   * @param startBytes the log's counter of written bytes minus all garbage
   */
  private record Measured(Version version, double allowedBytes, double startBytes) {}

  /** From this pressure on, writers are slowed down and reclaim is not. */
  public static final double SLOWDOWN = 0.6;

  /** Allowed garbage of all kinds as a multiple of the allowed known garbage. */
  private static final double ALLOWED = 2;

  private final VersionSet versions;
  private final EngineConfig.Reclaim limits;
  private final ReclaimPicker picker;
  private final LogSpace space;
  private final LogWriter logWriter;
  private final CompactionScheduler background;
  private final WriteRateWindow recent;
  private volatile @Nullable Measured last;
  private volatile boolean relieved;

  public ReclaimPressure(
      VersionSet versions,
      EngineConfig.Reclaim limits,
      LogSpace space,
      LogWriter logWriter,
      CompactionScheduler background) {
    this.versions = versions;
    this.limits = limits;
    this.picker = new ReclaimPicker(limits.goal());
    this.space = space;
    this.logWriter = logWriter;
    this.background = background;
    this.recent = new WriteRateWindow(logWriter::bytesWritten);
  }

  /** Called ten times a second. */
  void tick() {
    recent.tick();
  }

  /**
   * Allowed garbage. In a small store this includes that of the writes of the last two seconds;
   * otherwise files about to be overwritten would be copied repeatedly.
   */
  ReclaimGoal goal() {
    return limits.goal().letting(Math.min(limits.pendingBytesMax(), recent.bytes()));
  }

  /** Recent rate of appends to the log. */
  double writtenPerSecond() {
    return recent.bytes() / WriteRateWindow.SECONDS;
  }

  /**
   * Counts known garbage, garbage hidden by newer versions, and bytes written since. Does not count
   * files kept only for a cursor, because waiting does not free them. Measured once per version.
   */
  public double get() {
    Measured now = measured();
    return (logWriter.bytesWritten() - now.startBytes) / now.allowedBytes;
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
    double needed = Math.max(0, version.liveBytes() - background.hiddenInLog(version));
    double allowedBytes = Math.max(1, ALLOWED * goal().mostBytes((long) needed));
    double garbage = space.bytesInForce(version) - needed - picker.balance(version).retainedBytes();
    double startBytes = logWriter.bytesWritten() - garbage;
    return new Measured(version, allowedBytes, startBytes);
  }
}
