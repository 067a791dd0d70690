package io.kvsep.internal.background;

import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.FullyDeletedTables.Covered;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.view.CurrentReadState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Which compactions are at work, and with which tables, so that no two of them take the same one.
 * Whatever is chosen is chosen under one lock, so that it sees all that was chosen before. Thread
 * safe.
 *
 * <p>Each is noted in one place alone, and taken off it without making anything: what fails for
 * want of memory must not keep its tables, nor the place of one that may run.
 */
final class RunningCompactions {
  private final CurrentReadState live;

  /** Guards the five below. */
  private final NonAllocatingLock lock = new NonAllocatingLock();

  private final List<CompactionPlan> plans = new ArrayList<>();

  /** Tables that are being dropped. */
  private final List<List<Covered>> drops = new ArrayList<>();

  private boolean paused;

  /** Of whoever has paused them, the plan beside which others may begin all the same. */
  private @Nullable CompactionPlan pausersPlan;

  /** Whether nobody may pause them. */
  private boolean kept;

  RunningCompactions(CurrentReadState live) {
    this.live = live;
  }

  /**
   * Chooses a plan and takes its tables, unless as many as may run are at work, or none may.
   *
   * @param choice is given the tables that are taken
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

  /** Gives the plan's tables back. */
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
   * Chooses tables that are to be dropped without reading them, and takes them.
   *
   * @param besidePause whether it may be done while compactions are paused
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

  /** Runs something while nothing is chosen, with the plans that are at work. */
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

  /** Runs something while nothing is chosen, unless somebody has paused them; whether it did. */
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
   * Waits until nobody has paused them, and lets nobody until {@link #allowPause}.
   *
   * @param pulse is called now and then and may throw to give up
   */
  void keepGoing(Runnable pulse) {
    long seen = live.changes();
    while (!tryKeepGoing()) {
      pulse.run();
      live.awaitChange(seen);
      seen = live.changes();
    }
  }

  /** They may be paused again. */
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

  /** Decides by the plans that are at work. */
  interface PlacesTables {
    void run(List<CompactionPlan> plans);
  }

  /** Waits for those at work; none begins until {@link #resume}. One thread at a time gets that. */
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
   * Takes the tables of a plan of whoever has paused them, and lets others begin beside it: it may
   * take long, and level 0 fills up meanwhile. Until {@link #endBeside}.
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

  /** The plan beside which others begin, null for none; for those who choose. */
  @Nullable CompactionPlan pausersPlan() {
    lock.lock();
    try {
      return pausersPlan;
    } finally {
      lock.unlock();
    }
  }

  /** Gives the plan's tables back and waits for the others; none begins any more. */
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
