package io.kvsep.internal.background;

import io.kvsep.internal.compaction.CompactionPicker;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import java.io.IOException;
import java.time.Clock;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Merges everything into the last level and rewrites tables there that hold invisible entries.
 * Quarantined tables stay, and so do tables that could only move down together with them. Each job
 * is chosen while no other compaction runs. While a long job runs, or one of many, other
 * compactions run on other tables, so that level 0 does not fill up.
 */
final class FullCompaction {
  interface Job {
    void run(CompactionPlan plan) throws IOException;
  }

  /** Quarantines the table that made a plan fail; returns whether there is one. */
  interface Sparing {
    boolean spares(CompactionPlan plan, Throwable error);
  }

  private enum Outcome {
    NOTHING,
    DONE,
    /** A table could not be read and is now quarantined. */
    DAMAGE
  }

  private final VersionSet versions;
  private final CompactionPicker picker;
  private final FileQuarantine quarantine;
  private final Clock clock;
  private final RunningCompactions running;
  private final Job job;
  private final Sparing sparing;

  /**
   * @param running paused by the caller
   */
  FullCompaction(
      VersionSet versions,
      CompactionPicker picker,
      FileQuarantine quarantine,
      Clock clock,
      RunningCompactions running,
      Job job,
      Sparing sparing) {
    this.versions = versions;
    this.picker = picker;
    this.quarantine = quarantine;
    this.clock = clock;
    this.running = running;
    this.job = job;
    this.sparing = sparing;
  }

  void run() throws IOException {
    compactOne(version -> picker.pickLevelZeroApart(version, quarantine.tablesIn(version)));
    for (int level = 0; level < Version.LEVELS - 1; level++) {
      compactLevel(level);
    }
    rewriteLastLevel(this::isStale);
  }

  /** Rewrites tables of the last level. */
  void rewriteLastLevel(Predicate<TableFile> stale) throws IOException {
    boolean more = true;
    while (more) {
      more = rewriteSome(stale) == Outcome.DAMAGE;
    }
  }

  void runLevelZero() throws IOException {
    compactLevel(0);
  }

  private void compactLevel(int level) throws IOException {
    Outcome whole;
    do {
      whole =
          compactOne(
              version -> picker.pickWholeLevel(version, level, quarantine.tablesIn(version)));
    } while (whole == Outcome.DAMAGE);
    if (whole == Outcome.DONE) {
      return;
    }
    // Each part removes a table or finds one that cannot go. Writers may add others meanwhile.
    int parts = versions.current().tables(level).length;
    Outcome part = Outcome.DONE;
    while (parts-- > 0 && part != Outcome.NOTHING) {
      part =
          compactOne(
              version -> picker.pickPartOfLevel(version, level, quarantine.tablesIn(version)));
    }
  }

  /** After {@code DAMAGE}, other rewrites may be left. */
  private Outcome rewriteSome(Predicate<TableFile> stale) throws IOException {
    Outcome outcome = Outcome.NOTHING;
    Version chosen = versions.current();
    List<CompactionPlan> rewrites = picker.pickRewrites(chosen, quarantine.tablesIn(chosen), stale);
    boolean areLong = picker.areLong(rewrites);
    for (CompactionPlan rewrite : rewrites) {
      if (compactOne(version -> remaining(version, rewrite), areLong) == Outcome.DAMAGE) {
        outcome = Outcome.DAMAGE;
      }
    }
    return outcome;
  }

  /**
   * The rewrite of those of its tables that still exist, null if none does. Others were rewritten,
   * or dropped because a range delete flushed meanwhile covers them.
   */
  private static @Nullable CompactionPlan remaining(Version version, CompactionPlan rewrite) {
    List<TableFile> chosen = rewrite.inputs();
    int level = rewrite.inputLevel();
    byte[] smallest = chosen.get(0).meta().smallestKey();
    byte[] largest = chosen.get(chosen.size() - 1).meta().largestKey();
    List<TableFile> left = version.overlapping(level, smallest, largest);
    return left.isEmpty()
        ? null
        : new CompactionPlan(level, level, left, List.of(), rewrite.bottom(), rewrite.move());
  }

  private boolean isStale(TableFile table) {
    return table.meta().tombstoneCount() > 0
        || table.meta().hiddenCount() > 0
        || table.meta().rangeCount() > 0
        || table.meta().hasExpired(clock.millis());
  }

  private Outcome compactOne(Function<Version, @Nullable CompactionPlan> choice)
      throws IOException {
    return compactOne(choice, /* isPartOfLong= */ false);
  }

  /**
   * @param isPartOfLong whether other compactions may run next to this job even if it is short
   */
  private Outcome compactOne(
      Function<Version, @Nullable CompactionPlan> choice, boolean isPartOfLong) throws IOException {
    CompactionPlan plan;
    Version version = versions.retainCurrent();
    try {
      plan = choice.apply(version);
    } finally {
      version.release();
    }
    if (plan == null) {
      return Outcome.NOTHING;
    }
    boolean isBeside = isPartOfLong || picker.areLong(List.of(plan));
    if (isBeside) {
      running.beginBeside(plan);
    }
    try {
      job.run(plan);
      return Outcome.DONE;
    } catch (RuntimeException | InternalError e) {
      if (!sparing.spares(plan, e)) {
        throw e;
      }
      return Outcome.DAMAGE;
    } finally {
      if (isBeside) {
        running.endBeside(plan);
      }
    }
  }
}
