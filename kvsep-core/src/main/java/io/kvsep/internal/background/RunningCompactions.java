package io.kvsep.internal.background;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.view.CurrentReadState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The running compactions and their tables, so that no two share one or write among each other's
 * tables. All choices are made under one lock, so each sees the earlier ones. Thread safe.
 */
final class RunningCompactions {
  private final CurrentReadState currentState;

  private final ReentrantLock lock = new ReentrantLock();

  @GuardedBy("lock")
  private final List<CompactionPlan> plans = new ArrayList<>();

  /** Those of {@link #plans} that run on the threads of callers. */
  @GuardedBy("lock")
  private final List<CompactionPlan> asked = new ArrayList<>();

  RunningCompactions(CurrentReadState currentState) {
    this.currentState = currentState;
  }

  /**
   * Chooses a plan and takes its tables. Null if {@code runningMax} are running, not counting those
   * of {@link #takeAsked}, or if the output would lie among the tables of another.
   *
   * @param choice receives the busy tables, in a set of its own
   */
  @Nullable CompactionPlan take(
      int runningMax, Function<Set<TableFile>, @Nullable CompactionPlan> choice) {
    lock.lock();
    try {
      if (plans.size() - asked.size() >= runningMax) {
        return null;
      }
      CompactionPlan plan = choice.apply(tables(plans));
      if (plan == null || plans.stream().anyMatch(plan::clashes)) {
        return null;
      }
      plans.add(plan);
      return plan;
    } finally {
      lock.unlock();
    }
  }

  /** As {@link #take}, for the thread of a caller, of any number. */
  @Nullable CompactionPlan takeAsked(Function<Set<TableFile>, @Nullable CompactionPlan> choice) {
    lock.lock();
    try {
      CompactionPlan plan = take(Integer.MAX_VALUE, choice);
      if (plan != null) {
        asked.add(plan);
      }
      return plan;
    } finally {
      lock.unlock();
    }
  }

  void release(CompactionPlan plan) {
    lock.lock();
    try {
      plans.remove(plan);
      asked.remove(plan);
    } finally {
      lock.unlock();
    }
    currentState.signal();
  }

  /** Tables of the plans of {@link #takeAsked} that pass a test. */
  Set<TableFile> askedTables(Predicate<CompactionPlan> test) {
    lock.lock();
    try {
      return tables(asked.stream().filter(test).toList());
    } finally {
      lock.unlock();
    }
  }

  static Set<TableFile> tables(List<CompactionPlan> plans) {
    Set<TableFile> tables = new HashSet<>();
    plans.forEach(plan -> tables.addAll(plan.tables()));
    return tables;
  }

  /** Runs an action with the running plans while no plan is chosen. */
  void beside(Consumer<List<CompactionPlan>> action) {
    lock.lock();
    try {
      action.accept(plans);
    } finally {
      lock.unlock();
    }
  }
}
