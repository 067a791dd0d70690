package io.kvsep.internal.background;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.FullyDeletedTables.Covered;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.view.CurrentReadState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The running compactions and their tables, so that no two share one. All choices are made under
 * one lock, so each sees the earlier ones. Thread safe.
 */
final class RunningCompactions {
  private final CurrentReadState live;

  private final ReentrantLock lock = new ReentrantLock();

  @GuardedBy("lock")
  private final List<CompactionPlan> plans = new ArrayList<>();

  @GuardedBy("lock")
  private final List<List<Covered>> drops = new ArrayList<>();

  @GuardedBy("lock")
  private boolean paused;

  /** The pausing thread's plan next to which others may start; null for none. */
  @GuardedBy("lock")
  private @Nullable CompactionPlan pausersPlan;

  /** Whether pausing is prohibited. */
  @GuardedBy("lock")
  private boolean kept;

  RunningCompactions(CurrentReadState live) {
    this.live = live;
  }

  /**
   * Chooses a plan and takes its tables. Null if {@code runningMax} are running, or while paused.
   *
   * @param choice receives the busy tables
   */
  @Nullable CompactionPlan take(
      int runningMax, Function<Set<TableFile>, @Nullable CompactionPlan> choice) {
    lock.lock();
    try {
      int counted = plans.size() + drops.size() - (pausersPlan == null ? 0 : 1);
      if ((paused && pausersPlan == null) || counted >= runningMax) {
        return null;
      }
      CompactionPlan plan = choice.apply(busy());
      if (plan != null) {
        plans.add(plan);
      }
      return plan;
    } finally {
      lock.unlock();
    }
  }

  void release(CompactionPlan plan) {
    lock.lock();
    try {
      remove(plans, plan);
    } finally {
      lock.unlock();
    }
    live.signal();
  }

  /**
   * Chooses tables to drop without reading them, and takes them.
   *
   * @param besidePause whether to proceed while compactions are paused
   */
  List<Covered> takeCovered(boolean besidePause, Function<Set<TableFile>, List<Covered>> choice) {
    lock.lock();
    try {
      if (paused && !besidePause) {
        return List.of();
      }
      List<Covered> covered = choice.apply(busy());
      if (!covered.isEmpty()) {
        drops.add(covered);
      }
      return covered;
    } finally {
      lock.unlock();
    }
  }

  void releaseCovered(List<Covered> covered) {
    lock.lock();
    try {
      remove(drops, covered);
    } finally {
      lock.unlock();
    }
  }

  @GuardedBy("lock")
  private Set<TableFile> busy() {
    Set<TableFile> busy = new HashSet<>();
    for (CompactionPlan plan : plans) {
      busy.addAll(plan.inputs());
      busy.addAll(plan.overlaps());
    }
    for (List<Covered> covered : drops) {
      covered.forEach(one -> busy.add(one.table()));
    }
    return busy;
  }

  private static <T> void remove(List<T> taken, T one) {
    for (int i = 0; i < taken.size(); i++) {
      if (taken.get(i) == one) {
        taken.remove(i);
        return;
      }
    }
  }

  /** Runs an action while no plan is chosen. Must not be called during a pause. */
  void beside(PlacesTables action) {
    lock.lock();
    try {
      if (paused) {
        throw new IllegalStateException("somebody may be at work with any table");
      }
      action.run(plans);
    } finally {
      lock.unlock();
    }
  }

  /** Runs an action while no plan is chosen, unless paused; returns whether it ran. */
  boolean unlessPaused(Runnable action) {
    lock.lock();
    try {
      if (!paused) {
        action.run();
      }
      return !paused;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until compactions are not paused, and prevents pausing until {@link #allowPause}.
   *
   * @param pulse called now and then; may throw to give up
   */
  void keepGoing(Runnable pulse) {
    long seen = live.changes();
    while (!tryKeepGoing()) {
      pulse.run();
      live.awaitChange(seen);
      seen = live.changes();
    }
  }

  void allowPause() {
    lock.lock();
    try {
      kept = false;
    } finally {
      lock.unlock();
    }
    live.signal();
  }

  private boolean tryKeepGoing() {
    lock.lock();
    try {
      boolean free = !paused && !kept;
      kept |= free;
      return free;
    } finally {
      lock.unlock();
    }
  }

  interface PlacesTables {
    void run(List<CompactionPlan> plans);
  }

  /**
   * Waits for the running compactions and lets none start until {@link #resume}. Excludes other
   * pauses.
   */
  void pause() {
    long seen = live.changes();
    while (!tryPause()) {
      live.awaitChange(seen);
      seen = live.changes();
    }
    boolean alone = false;
    try {
      awaitNone();
      alone = true;
    } finally {
      if (!alone) {
        resume();
      }
    }
  }

  /**
   * Takes the tables of a plan of the pausing thread and lets others start until {@link
   * #endBeside}: it may take long, and level 0 fills up meanwhile.
   */
  void beginBeside(CompactionPlan plan) {
    lock.lock();
    try {
      plans.add(plan);
      pausersPlan = plan;
    } finally {
      lock.unlock();
    }
  }

  @Nullable CompactionPlan pausersPlan() {
    lock.lock();
    try {
      return pausersPlan;
    } finally {
      lock.unlock();
    }
  }

  /** Releases the plan's tables, lets no other compaction start, and waits for the running ones. */
  void endBeside(CompactionPlan plan) {
    lock.lock();
    try {
      pausersPlan = null;
      remove(plans, plan);
    } finally {
      lock.unlock();
    }
    awaitNone();
  }

  void resume() {
    lock.lock();
    try {
      paused = false;
    } finally {
      lock.unlock();
    }
    live.signal();
  }

  private boolean tryPause() {
    lock.lock();
    try {
      boolean free = !paused && !kept;
      paused |= free;
      return free;
    } finally {
      lock.unlock();
    }
  }

  private void awaitNone() {
    long seen = live.changes();
    while (isRunning()) {
      live.awaitChange(seen);
      seen = live.changes();
    }
  }

  private boolean isRunning() {
    lock.lock();
    try {
      return !plans.isEmpty() || !drops.isEmpty();
    } finally {
      lock.unlock();
    }
  }
}
