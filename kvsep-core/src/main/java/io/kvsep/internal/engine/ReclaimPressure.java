package io.kvsep.internal.engine;

import io.kvsep.internal.reclaim.ReclaimGoal;
import io.kvsep.internal.reclaim.ReclaimPicker;
import io.kvsep.internal.reclaim.ReclaimPicker.Balance;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import org.jspecify.annotations.Nullable;

/**
 * How much garbage the value log holds in relation to what it may hold. Computed once a version.
 * Thread safe.
 */
final class ReclaimPressure {
  private record Measured(Version version, double pressure) {}

  private final VersionSet versions;
  private final ReclaimGoal goal;
  private volatile @Nullable Measured last;
  private volatile boolean relieved;

  ReclaimPressure(VersionSet versions, ReclaimGoal goal) {
    this.versions = versions;
    this.goal = goal;
  }

  /** 0 when a job has just become due, 1 when as much is there as may be; no bounds. */
  double get() {
    Version version = versions.current();
    Measured measured = last;
    if (measured == null || measured.version != version) {
      measured = new Measured(version, measure(version));
      last = measured;
    }
    return measured.pressure;
  }

  /** Whether a job is at work, so that waiting helps. */
  boolean isRelieved() {
    return relieved;
  }

  void relieved(boolean working) {
    relieved = working;
  }

  private double measure(Version version) {
    Balance balance = ReclaimPicker.balance(version);
    double due = goal.dueBytes(balance.neededBytes());
    double most = goal.mostBytes(balance.neededBytes());
    return (balance.garbageBytes() - due) / Math.max(1, most - due);
  }
}
