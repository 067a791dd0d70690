package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Chooses merges while nothing is written, so that reads find all tables in one level. Steps are
 * short, as a new write may wait for the running one. Pure: the result depends only on the
 * arguments.
 */
public final class IdleCompactionPicker {
  public static final int NO_LEVEL = -1;

  /** Worth merging: the level below is at most this many times as long. */
  private static final int SETTLING_FACTOR = CompactionConfig.LEVEL_MULTIPLIER;

  /**
   * Or it is at most 1/n of all bytes written with this level, values in the log included, to which
   * rewriting keys adds little.
   */
  private static final int SETTLING_VALUES_PART = 2;

  private final CompactionPicker picker;
  private final long stepBytesMax;

  public IdleCompactionPicker(CompactionPicker picker, CompactionConfig config) {
    this.picker = picker;
    this.stepBytesMax = config.stepBytesMax();
  }

  /**
   * The level to merge into the next non-empty one: the lowest that is worth it, by bytes rewritten
   * and brought down. Levels above it go first, however short, if that rewrites no more than this
   * step does: alone they would never be worth it. {@link #NO_LEVEL} if there is none.
   *
   * @param untouchable while these block that step, no level above goes down for it
   * @param spared those of them that are quarantined; a level that only they block is not chosen
   * @param affordableBytes what may be rewritten however little it brings down
   */
  public int level(
      Version version, Set<TableFile> untouchable, Set<TableFile> spared, long affordableBytes) {
    for (int level = Version.LEVELS - 2; level >= 0; level--) {
      int tables = version.tables(level).length;
      long below = version.levelBytes(CompactionPicker.nextHeld(version, level));
      boolean apart = below > 0 || (level == 0 && tables > 1);
      boolean worthIt = below <= Math.max(affordableBytes, worth(version, level));
      if (tables > 0 && apart && worthIt && mayGoDown(version, level, spared)) {
        boolean stuck = pick(version, level, untouchable) == null;
        return stuck ? level : highestAlong(version, level, spared, below);
      }
    }
    return NO_LEVEL;
  }

  /** Bytes that may be rewritten to merge a level. */
  private static long worth(Version version, int level) {
    long bytes = version.levelBytes(level);
    long withValues = bytes + version.sums(level).valueBytes();
    return Math.max(SETTLING_FACTOR * bytes, withValues / SETTLING_VALUES_PART);
  }

  /** The highest level that can reach the given one within that cost. */
  private int highestAlong(Version version, int level, Set<TableFile> spared, long bytesMax) {
    int highest = level;
    long rewritten = 0;
    for (int above = level - 1; above >= 0; above--) {
      rewritten += version.levelBytes(above + 1);
      if (rewritten > bytesMax) {
        break;
      }
      if (mayGoDown(version, above, spared)) {
        highest = above;
      }
    }
    return highest;
  }

  /** Whether any table of a level can go down if only {@code spared} ones block it. */
  public boolean mayGoDown(Version version, int level, Set<TableFile> spared) {
    return pick(version, level, spared) != null;
  }

  /**
   * The next step in emptying a level; null if it is empty or blocked by busy or uncuttable tables.
   */
  public @Nullable CompactionPlan pick(Version version, int level, Set<TableFile> busy) {
    if (version.tables(level).length == 0) {
      return null;
    }
    return level == 0 ? pickLevelZero(version, busy) : pickTable(version, level, busy);
  }

  /** If that is too long, an ordinary compaction, to be cut in its output level. */
  private @Nullable CompactionPlan pickLevelZero(Version version, Set<TableFile> busy) {
    int next = CompactionPicker.nextHeld(version, 0);
    CompactionPlan plan = picker.pickLevelZero(version, next, busy);
    return plan == null || !isLong(plan)
        ? plan
        : picker.pickLevelZero(version, picker.baseLevel(version), busy);
  }

  private @Nullable CompactionPlan pickTable(Version version, int level, Set<TableFile> busy) {
    CompactionPlan plan = picker.pickForLength(version, level, busy);
    Set<TableFile> others = busy;
    while (plan != null && isLong(plan)) {
      TableFile table = plan.inputs().get(0);
      // A range delete may be what makes it wide, and is not cut where it holds no key.
      if (table.meta().rangeCount() == 0) {
        return cut(level, table, plan.overlaps());
      }
      others = new HashSet<>(others);
      others.add(table);
      plan = picker.pickForLength(version, level, others);
    }
    return plan;
  }

  private boolean isLong(CompactionPlan plan) {
    return plan.overlaps().size() > 1 && CompactionPicker.bytes(plan.overlaps()) > stepBytesMax;
  }

  /** Rewrites a table within its level, in pieces that go down in short steps. */
  private CompactionPlan cut(int level, TableFile table, List<TableFile> below) {
    List<byte[]> cuts = new ArrayList<>();
    long bytes = below.get(0).meta().fileBytes();
    for (TableFile next : below.subList(1, below.size())) {
      bytes += next.meta().fileBytes();
      if (bytes > stepBytesMax) {
        cuts.add(next.meta().smallestKey());
        bytes = next.meta().fileBytes();
      }
    }
    return new CompactionPlan(
        level, level, List.of(table), List.of(), /* bottom= */ false, /* move= */ false, cuts);
  }
}
