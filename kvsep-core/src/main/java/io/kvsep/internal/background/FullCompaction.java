package io.kvsep.internal.background;

import io.kvsep.internal.compaction.CompactionPicker;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.view.CurrentReadState;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Merges everything into the last level and rewrites tables there that hold invisible entries, from
 * the top down, in steps like those of other compactions, which go on beside it. Entries written
 * meanwhile may stay above. Quarantined tables stay, and so do tables that could only move down
 * together with them.
 */
final class FullCompaction {
  private interface Choice {
    /**
     * @param busy tables that cannot be taken, the {@code bad} ones among them
     * @param bad quarantined tables
     */
    @Nullable CompactionPlan pick(Version version, Set<TableFile> busy, Set<TableFile> bad);
  }

  private final VersionSet versions;
  private final CurrentReadState currentState;
  private final CompactionPicker picker;
  private final FileQuarantine quarantine;
  private final RunningCompactions running;
  private final Predicate<CompactionPlan> job;

  /**
   * @param job runs and releases a plan; returns false if one of its tables is now in quarantine
   */
  FullCompaction(
      VersionSet versions,
      CurrentReadState currentState,
      CompactionPicker picker,
      FileQuarantine quarantine,
      RunningCompactions running,
      Predicate<CompactionPlan> job) {
    this.versions = versions;
    this.currentState = currentState;
    this.picker = picker;
    this.quarantine = quarantine;
    this.running = running;
    this.job = job;
  }

  /**
   * @param newest sequence number of the newest entry that must go down
   * @param nowMillis decides what has expired
   */
  void run(long newest, long nowMillis) {
    for (int level = 0; level < Version.LEVELS - 1; level++) {
      compactLevel(level, newest);
    }
    rewriteLastLevel(table -> isStale(table, nowMillis));
  }

  /** No other thread brings such entries into the level, so this ends. */
  void compactLevel(int level, long newest) {
    Choice next = (version, busy, bad) -> picker.pickStep(version, level, newest, busy, bad);
    while (runNext(next) != null) {
      // Another step may be left.
    }
  }

  /** Rewrites tables of the last level, each at most once, in the order of their keys. */
  void rewriteLastLevel(Predicate<TableFile> stale) {
    byte[] last = {};
    CompactionPlan rewrite;
    do {
      byte[] after = last;
      rewrite =
          runNext(
              (version, busy, bad) -> {
                CompactionPlan next = picker.pickRewrite(version, after, bad, stale);
                return next == null || Collections.disjoint(next.inputs(), busy) ? next : null;
              });
      last = rewrite == null ? last : rewrite.largestKey();
    } while (rewrite != null);
  }

  private static boolean isStale(TableFile table, long nowMillis) {
    return table.meta().tombstoneCount() > 0
        || table.meta().hiddenCount() > 0
        || table.meta().rangeCount() > 0
        || table.meta().hasExpired(nowMillis);
  }

  /** Runs the next plan once no compaction is in its way, and returns it; null if there is none. */
  private @Nullable CompactionPlan runNext(Choice choice) {
    while (true) {
      long seen = currentState.changes();
      CompactionPlan plan = running.takeAsked(busy -> pick(choice, busy));
      if (plan != null && job.test(plan)) {
        return plan;
      }
      if (plan == null) {
        if (pick(choice, new HashSet<>()) == null) {
          return null;
        }
        currentState.awaitChange(seen);
      }
    }
  }

  private @Nullable CompactionPlan pick(Choice choice, Set<TableFile> busy) {
    Version version = versions.current();
    Set<TableFile> bad = quarantine.tablesIn(version);
    busy.addAll(bad);
    return choice.pick(version, busy, bad);
  }
}
