package io.kvsep.internal.compaction;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Chooses what a store that nobody writes to brings down, so that reads find all tables in one
 * level. No step is longer than writers can do without: who writes again may have to wait for the
 * one that is at work. Pure: the answer depends on the arguments alone.
 */
public final class IdleCompactionPicker {
  /** Where a level is asked for and there is none. */
  public static final int NO_LEVEL = -1;

  /** A store settles when what is below is at most so many times as long as what goes down. */
  private static final int SETTLING_FACTOR = CompactionConfig.LEVEL_MULTIPLIER;

  /**
   * Or when it is at most such a part of all bytes that came with what goes down, those of values
   * in the log included: next to what these wrote, rewriting keys is little.
   */
  private static final int SETTLING_VALUES_PART = 2;

  private final CompactionPicker picker;
  private final long stepBytesMax;

  public IdleCompactionPicker(CompactionPicker picker, CompactionConfig config) {
    this.picker = picker;
    this.stepBytesMax = config.stepBytesMax();
  }

  /**
   * The level to bring down into the next one that holds anything: the lowest one that is worth it,
   * by what that rewrites and what it brings down. What is above that one goes down with it,
   * however little it is, and so first, where that rewrites no more than the step that is worth it
   * does: alone it would not be worth rewriting what is below. {@link #NO_LEVEL} when there is
   * none.
   *
   * @param untouchable while they are in the way of that step, nothing goes down for its sake
   * @param spared those of them that stay so: a level that only they keep where it is is none to
   *     bring down
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

  /** How much may be rewritten for bringing a level down. */
  private static long worth(Version version, int level) {
    long bytes = version.levelBytes(level);
    long withValues = bytes + version.sums(level).valueBytes();
    return Math.max(SETTLING_FACTOR * bytes, withValues / SETTLING_VALUES_PART);
  }

  /** The highest level of which anything can be brought to the given one for so much. */
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

  /** Whether anything of a level can go down once no table is busy, but those that are spared. */
  public boolean mayGoDown(Version version, int level, Set<TableFile> spared) {
    return pick(version, level, spared) != null;
  }

  /**
   * The next step on the way of a level down; null when it is empty, or when busy tables or ones
   * that cannot be cut are in the way.
   */
  public @Nullable CompactionPlan pick(Version version, int level, Set<TableFile> busy) {
    if (version.tables(level).length == 0) {
      return null;
    }
    return level == 0 ? pickLevelZero(version, busy) : pickTable(version, level, busy);
  }

  /** Where that is too much at once, as ordinary compactions go, to be cut there. */
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
      // A deleted range may be what makes it wide, and is not cut where it holds no key.
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

  /** Rewrites a table where it is, in pieces that go down in steps that are not too long. */
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
