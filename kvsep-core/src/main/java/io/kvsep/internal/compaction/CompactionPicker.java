package io.kvsep.internal.compaction;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.LevelSums;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Chooses what to compact next: leveled compaction with level targets computed upwards from the
 * largest level, so that nine tenths of the data sit in one level whatever the store's length.
 * Pure: the answer depends on the arguments alone.
 */
public final class CompactionPicker {
  private static final int LAST = Version.LEVELS - 1;

  /** Tables below this part of the usual length are merged rather than moved. */
  private static final int SMALL_TABLE_FRACTION = 4;

  /** A table this short is always worth rewriting with its neighbour. */
  private static final long SMALL_TABLE_BYTES = 64 << 10;

  /** A small neighbour is rewritten when it is at most this many times as long as the inputs. */
  private static final int LEVEL_ZERO_NEIGHBOUR_FACTOR = 4;

  /**
   * From this score on a level comes before single tables that are due. What may be set free never
   * gives a higher one, so that level 0 comes first from this many times its number of tables on:
   * writers are slowed down by that number, and by nothing else.
   */
  static final int URGENT_SCORE = 2;

  /** Twice what a table of a full level overlaps in the next one. */
  private static final long TOMBSTONE_REWRITE_FACTOR = 2L * CompactionConfig.LEVEL_MULTIPLIER;

  private final CompactionConfig config;

  private final GarbageEstimateCache lastHidden;
  private final @Nullable CompactionPlan whole;

  public CompactionPicker(CompactionConfig config) {
    this(config, new GarbageEstimateCache(config), null);
  }

  private CompactionPicker(
      CompactionConfig config, GarbageEstimateCache lastHidden, @Nullable CompactionPlan whole) {
    this.config = config;
    this.lastHidden = lastHidden;
    this.whole = whole;
  }

  /**
   * One that chooses what can go on beside a plan of a full compaction, whose tables are busy. Such
   * a plan has gaps between its tables, into which it may write: nobody else puts tables there. And
   * level 0 goes to a level above, where nothing of it is in the way.
   */
  public CompactionPicker beside(CompactionPlan plan) {
    return new CompactionPicker(config, lastHidden, plan);
  }

  /** Whether plans, one after the other, take so long that writers should not wait for them. */
  public boolean areLong(List<CompactionPlan> plans) {
    long bytes = 0;
    for (CompactionPlan plan : plans) {
      bytes += bytes(plan.tables());
    }
    return bytes > config.stepBytesMax();
  }

  /**
   * The most urgent compaction none of whose tables is {@code busy}, null when nothing is due.
   *
   * @param nowMillis decides what has expired
   * @param oldestReader the lowest sequence number somebody may read at
   */
  public @Nullable CompactionPlan pick(
      Version version, Set<TableFile> busy, long nowMillis, long oldestReader) {
    int base = baseLevel(version);
    GarbageEstimate hidden = lastHidden.of(version, oldestReader);
    double[] scores = new double[LAST];
    Integer[] byScore = new Integer[LAST];
    for (int level = 0; level < LAST; level++) {
      byScore[level] = level;
      scores[level] = score(version, level, base, hidden);
    }
    Arrays.sort(byScore, (a, b) -> Double.compare(scores[b], scores[a]));
    // Single tables come between: else they would wait for as long as writers keep levels full.
    boolean singlesLookedAt = false;
    for (int level : byScore) {
      if (!singlesLookedAt && scores[level] < URGENT_SCORE) {
        singlesLookedAt = true;
        CompactionPlan plan = pickSingle(version, base, busy, nowMillis, oldestReader);
        if (plan != null) {
          return plan;
        }
      }
      if (scores[level] < 1) {
        break;
      }
      CompactionPlan plan = pickFrom(version, level, base, hidden, busy);
      if (plan != null) {
        return plan;
      }
    }
    return null;
  }

  /**
   * A table that is due for itself: because of what has expired in it, because it is mostly
   * tombstones, or because of what it still has for snapshots that are closed. It goes one level
   * down or, in the last level, is rewritten. The first comes to an end as the choice by levels
   * does. The second drops all tombstones, deleted ranges and hidden entries, or what has expired,
   * which is at least one entry: see {@link TableFile#expiryDueMillis}.
   */
  private @Nullable CompactionPlan pickSingle(
      Version version, int base, Set<TableFile> busy, long nowMillis, long oldestReader) {
    for (int level = 0; level < Version.LEVELS; level++) {
      LevelSums sums = version.sums(level);
      CompactionPlan plan = null;
      if (sums.expiryDueMillis() <= nowMillis) {
        plan =
            level == 0
                ? pickLevelZero(version, base, busy)
                : pickExpired(version, level, busy, nowMillis);
      }
      if (plan == null && level > 0) {
        plan = pickTombstones(version, level, busy, oldestReader);
      }
      if (plan != null) {
        return plan;
      }
    }
    return null;
  }

  private @Nullable CompactionPlan pickExpired(
      Version version, int level, Set<TableFile> busy, long nowMillis) {
    for (TableFile table : version.tables(level)) {
      if (table.expiryDueMillis() <= nowMillis && !busy.contains(table)) {
        CompactionPlan plan = pickDown(version, level, table, busy, /* dropsAtBottom= */ true);
        if (plan != null) {
          return plan;
        }
      }
    }
    return null;
  }

  /**
   * In the last level tombstones, deleted ranges and what other entries hide are left over from
   * snapshots. A rewrite drops them once nobody reads at a moment before any of them.
   */
  private @Nullable CompactionPlan pickTombstones(
      Version version, int level, Set<TableFile> busy, long oldestReader) {
    for (TableFile table : version.sums(level).tombstoneTables()) {
      boolean droppable = table.meta().largestSequence() <= oldestReader;
      if (!busy.contains(table) && (level < LAST || droppable)) {
        CompactionPlan plan = pickDown(version, level, table, busy, droppable);
        if (plan != null && isWorthIt(plan)) {
          return plan;
        }
      }
    }
    return level == LAST ? pickLeftOver(version, busy, oldestReader) : null;
  }

  /** What snapshots left behind in the last level besides whole tables of tombstones. */
  private @Nullable CompactionPlan pickLeftOver(
      Version version, Set<TableFile> busy, long oldestReader) {
    for (TableFile table : version.rangeTables(LAST)) {
      if (!busy.contains(table) && table.meta().largestSequence() <= oldestReader) {
        return rewrite(List.of(table));
      }
    }
    for (TableFile table : version.sums(LAST).hidingTables()) {
      TableMeta meta = table.meta();
      long unseen = meta.hiddenCount() + meta.tombstoneCount();
      if (!busy.contains(table)
          && meta.largestSequence() <= oldestReader
          && unseen >= config.hiddenFraction() * meta.entryCount()) {
        return rewrite(List.of(table));
      }
    }
    return null;
  }

  /** A few tombstones are not worth rewriting large tables below them. */
  private static boolean isWorthIt(CompactionPlan plan) {
    return bytes(plan.overlaps()) <= TOMBSTONE_REWRITE_FACTOR * bytes(plan.inputs());
  }

  private @Nullable CompactionPlan pickDown(
      Version version, int level, TableFile table, Set<TableFile> busy, boolean dropsAtBottom) {
    if (level == LAST) {
      return rewrite(List.of(table));
    }
    CompactionPlan plan =
        plan(version, level, level + 1, List.of(table), busy, /* mayMove= */ true);
    // Where nothing lies below, reading it is what drops the entries.
    return plan != null && plan.move() && plan.bottom() && dropsAtBottom
        ? plan(version, level, level + 1, List.of(table), busy, /* mayMove= */ false)
        : plan;
  }

  /** Tables of the last level, side by side, rewritten in place. */
  static CompactionPlan rewrite(List<TableFile> tables) {
    return new CompactionPlan(LAST, LAST, tables, List.of(), /* bottom= */ true, /* move= */ false);
  }

  private @Nullable CompactionPlan pickFrom(
      Version version, int level, int base, GarbageEstimate hidden, Set<TableFile> busy) {
    if (level == 0) {
      return pickLevelZero(version, base, busy);
    }
    boolean forValues = hidden.score(level) > lengthScore(version, level, base);
    return forValues
        ? pickForValues(version, level, hidden, busy)
        : pickForLength(version, level, busy);
  }

  /** How many times over its limits a level is; due from 1 on. */
  public double score(Version version, int level, int base, long oldestReader) {
    return score(version, level, base, lastHidden.of(version, oldestReader));
  }

  private double score(Version version, int level, int base, GarbageEstimate hidden) {
    double forValues = Math.min(hidden.score(level), URGENT_SCORE);
    return Math.max(lengthScore(version, level, base), forValues);
  }

  /** Bytes of the log that tables need, though what replaces them is in tables above. */
  public double hiddenInLog(Version version, long oldestReader) {
    return lastHidden.of(version, oldestReader).total();
  }

  /**
   * A table whose deleted ranges could not be read when a version was looked at is tried again with
   * the next look; else it is not for as long as that version is in force.
   */
  public void lookAgain() {
    lastHidden.forgetIncomplete();
  }

  private double lengthScore(Version version, int level, int base) {
    if (level == 0) {
      return version.tables(0).length / (double) config.levelZeroTables();
    }
    long bytes = version.levelBytes(level);
    return bytes == 0 ? 0 : bytes / (double) target(version, level, base);
  }

  /**
   * The level that level 0 is compacted into: the highest one whose target reaches the base, but
   * never below a level that holds tables, since those would be older than what is put beneath
   * them.
   */
  public int baseLevel(Version version) {
    long bytes = largestLevelBytes(version);
    int base = LAST;
    while (bytes > config.levelBaseBytes() && base > 1) {
      base--;
      bytes /= CompactionConfig.LEVEL_MULTIPLIER;
    }
    if (whole != null && whole.inputLevel() > 1 && base >= whole.inputLevel() - 1) {
      base = whole.inputLevel() - 1;
      // What is there cannot go down either: level 0 would rewrite all of it each time.
      while (base > 1 && version.levelBytes(base) > config.levelBaseBytes()) {
        base--;
      }
    }
    for (int level = 1; level < base; level++) {
      if (version.tables(level).length > 0) {
        return level;
      }
    }
    return base;
  }

  /**
   * Everything in level {@code level} merged into the next level that holds anything, or into the
   * last one, for a full compaction.
   */
  public @Nullable CompactionPlan pickWholeLevel(Version version, int level, Set<TableFile> busy) {
    List<TableFile> inputs = List.of(version.tables(level));
    if (inputs.isEmpty()) {
      return null;
    }
    int output = nextHeld(version, level);
    return plan(version, level, output, inputs, busy, /* mayMove= */ false);
  }

  /**
   * Level 0 made a level of its own, just above the next one that holds anything; null where it
   * need not be, since that one is not long, or cannot. While tables of level 0 are being merged,
   * no others of it can be, so that should not take long.
   */
  public @Nullable CompactionPlan pickLevelZeroApart(Version version, Set<TableFile> busy) {
    List<TableFile> inputs = List.of(version.tables(0));
    int next = nextHeld(version, 0);
    return inputs.isEmpty() || next <= 2 || version.levelBytes(next) <= config.stepBytesMax()
        ? null
        : plan(version, 0, next - 1, inputs, busy, /* mayMove= */ false);
  }

  /**
   * As {@link #pickWholeLevel}, but only tables side by side, in level 0 one on top of the other,
   * where busy ones are in the way of the whole; null when they are in the way of every table.
   */
  public @Nullable CompactionPlan pickPartOfLevel(Version version, int level, Set<TableFile> busy) {
    int output = nextHeld(version, level);
    if (level == 0) {
      return pickPartOfLevelZero(version, output, busy);
    }
    CompactionPlan longest = null;
    List<TableFile> run = new ArrayList<>();
    for (TableFile table : version.tables(level)) {
      run.add(table);
      CompactionPlan plan =
          plan(version, level, output, List.copyOf(run), busy, /* mayMove= */ false);
      if (plan == null && longest != null) {
        break;
      }
      if (plan == null) {
        run.clear();
      }
      longest = plan;
    }
    return longest;
  }

  /** Tables of level 0 that go down into a level without others there, null for none. */
  @Nullable CompactionPlan pickPartOfLevelZero(Version version, int output, Set<TableFile> busy) {
    Set<TableFile> seen = new HashSet<>();
    for (TableFile table : version.tables(0)) {
      if (!seen.contains(table)) {
        List<TableFile> inputs = overlappingInLevelZero(version, table);
        CompactionPlan plan = plan(version, 0, output, inputs, busy, /* mayMove= */ false);
        if (plan != null) {
          return plan;
        }
        seen.addAll(inputs);
      }
    }
    return null;
  }

  /** The next level below that holds anything, or the last one. */
  static int nextHeld(Version version, int level) {
    int next = level + 1;
    while (next < LAST && version.tables(next).length == 0) {
      next++;
    }
    return next;
  }

  /**
   * Rewrites in place what of the last level needs it: runs of neighbours that fit one table
   * together, and tables that {@code stale} says hold something nobody can see any more.
   */
  public List<CompactionPlan> pickRewrites(
      Version version, Set<TableFile> busy, Predicate<TableFile> stale) {
    List<CompactionPlan> plans = new ArrayList<>();
    List<TableFile> run = new ArrayList<>();
    for (TableFile table : version.tables(LAST)) {
      boolean taken = busy.contains(table);
      boolean tooLong = table.meta().fileBytes() > config.tableBytes() - bytes(run);
      if (!run.isEmpty() && (taken || tooLong)) {
        addRewrite(plans, run, stale);
        run = new ArrayList<>();
      }
      if (!taken) {
        run.add(table);
      }
    }
    addRewrite(plans, run, stale);
    return plans;
  }

  private static void addRewrite(
      List<CompactionPlan> plans, List<TableFile> run, Predicate<TableFile> stale) {
    if (run.size() > 1 || run.stream().anyMatch(stale)) {
      plans.add(rewrite(run));
    }
  }

  @Nullable CompactionPlan pickLevelZero(Version version, int base, Set<TableFile> busy) {
    TableFile[] tables = version.tables(0);
    for (TableFile table : tables) {
      if (busy.contains(table)) {
        return null;
      }
    }
    // Tables that stay behind hold none of these keys, so their being older or newer cannot matter.
    List<TableFile> inputs = overlappingInLevelZero(version, tables[tables.length - 1]);
    boolean small = bytes(inputs) < config.tableBytes() / SMALL_TABLE_FRACTION;
    List<TableFile> chosen = small ? List.of(tables) : inputs;
    return plan(version, 0, base, chosen, busy, /* mayMove= */ !small && chosen.size() == 1);
  }

  /** A table of level 0 and everything there that it overlaps, directly or through others. */
  private static List<TableFile> overlappingInLevelZero(Version version, TableFile first) {
    Set<TableFile> found = new LinkedHashSet<>();
    found.add(first);
    byte[] smallest = first.meta().smallestKey();
    byte[] largest = first.meta().largestKey();
    boolean grew = true;
    while (grew) {
      grew = false;
      for (TableFile table : version.overlapping(0, smallest, largest)) {
        if (found.add(table)) {
          smallest = min(smallest, table.meta().smallestKey());
          largest = max(largest, table.meta().largestKey());
          grew = true;
        }
      }
    }
    return List.copyOf(found);
  }

  /** The table of the level whose move down rewrites least below, in relation to its own length. */
  @Nullable CompactionPlan pickForLength(Version version, int level, Set<TableFile> busy) {
    return pickTable(version, level, busy, table -> table.meta().fileBytes());
  }

  /** The table that sets most free for what is rewritten. */
  private @Nullable CompactionPlan pickForValues(
      Version version, int level, GarbageEstimate hidden, Set<TableFile> busy) {
    return pickTable(version, level, busy, table -> hidden.of(level, table));
  }

  /** The table with the highest gain for what its move down rewrites; one that need not be read. */
  private @Nullable CompactionPlan pickTable(
      Version version, int level, Set<TableFile> busy, ToDoubleFunction<TableFile> gain) {
    CompactionPlan best = null;
    double bestRatio = -1;
    for (TableFile table : version.tables(level)) {
      if (busy.contains(table)) {
        continue;
      }
      CompactionPlan plan =
          plan(version, level, level + 1, List.of(table), busy, /* mayMove= */ true);
      if (plan == null) {
        continue;
      }
      if (plan.move()) {
        return plan;
      }
      double ratio = gain.applyAsDouble(table) / bytes(plan.tables());
      if (ratio > bestRatio) {
        best = plan;
        bestRatio = ratio;
      }
    }
    return best;
  }

  private @Nullable CompactionPlan plan(
      Version version,
      int inputLevel,
      int outputLevel,
      List<TableFile> inputs,
      Set<TableFile> busy,
      boolean mayMove) {
    byte[] smallest = inputs.get(0).meta().smallestKey();
    byte[] largest = inputs.get(0).meta().largestKey();
    for (TableFile input : inputs) {
      if (busy.contains(input)) {
        return null;
      }
      smallest = min(smallest, input.meta().smallestKey());
      largest = max(largest, input.meta().largestKey());
    }
    List<TableFile> overlaps = version.overlapping(outputLevel, smallest, largest);
    for (TableFile overlap : overlaps) {
      if (busy.contains(overlap)) {
        return null;
      }
      smallest = min(smallest, overlap.meta().smallestKey());
      largest = max(largest, overlap.meta().largestKey());
    }
    if (inputLevel == 0) {
      overlaps = withSmallNeighbours(version, outputLevel, overlaps, inputs, busy);
      for (TableFile overlap : overlaps) {
        smallest = min(smallest, overlap.meta().smallestKey());
        largest = max(largest, overlap.meta().largestKey());
      }
    }
    if (whole != null && outputLevel == whole.outputLevel() && whole.meets(smallest, largest)) {
      return null;
    }
    boolean bottom = true;
    for (int level = outputLevel + 1; level < Version.LEVELS; level++) {
      bottom &= version.overlapping(level, smallest, largest).isEmpty();
    }
    boolean move = mayMove && overlaps.isEmpty();
    return new CompactionPlan(inputLevel, outputLevel, inputs, overlaps, bottom, move);
  }

  /**
   * Adds the tables just before and behind the inputs' keys when they are small and not much larger
   * than the inputs: small flushes of ever new keys would otherwise leave a table each for good.
   */
  private List<TableFile> withSmallNeighbours(
      Version version,
      int level,
      List<TableFile> overlaps,
      List<TableFile> inputs,
      Set<TableFile> busy) {
    TableFile[] tables = version.tables(level);
    byte[] smallest = inputs.get(0).meta().smallestKey();
    byte[] largest = inputs.get(0).meta().largestKey();
    for (TableFile input : inputs) {
      smallest = min(smallest, input.meta().smallestKey());
      largest = max(largest, input.meta().largestKey());
    }
    long limit =
        Math.min(
            config.tableBytes() / SMALL_TABLE_FRACTION,
            Math.max(SMALL_TABLE_BYTES, LEVEL_ZERO_NEIGHBOUR_FACTOR * bytes(inputs)));
    List<TableFile> all = new ArrayList<>();
    for (int i = 0; i < tables.length; i++) {
      TableFile table = tables[i];
      boolean before =
          Arrays.compareUnsigned(table.meta().largestKey(), smallest) < 0
              && (i + 1 == tables.length
                  || Arrays.compareUnsigned(tables[i + 1].meta().largestKey(), smallest) >= 0);
      boolean behind =
          Arrays.compareUnsigned(table.meta().smallestKey(), largest) > 0
              && (i == 0
                  || Arrays.compareUnsigned(tables[i - 1].meta().smallestKey(), largest) <= 0);
      boolean wanted = table.meta().fileBytes() < limit && !busy.contains(table);
      if (overlaps.contains(table) || ((before || behind) && wanted)) {
        all.add(table);
      }
    }
    return all;
  }

  static long bytes(List<TableFile> tables) {
    long bytes = 0;
    for (TableFile table : tables) {
      bytes += table.meta().fileBytes();
    }
    return bytes;
  }

  private long target(Version version, int level, int base) {
    if (level < base) {
      return 1;
    }
    long bytes = largestLevelBytes(version);
    for (int above = LAST; above > level; above--) {
      bytes /= CompactionConfig.LEVEL_MULTIPLIER;
    }
    return Math.max(bytes, config.levelBaseBytes());
  }

  private static long largestLevelBytes(Version version) {
    long largest = 0;
    for (int level = 1; level < Version.LEVELS; level++) {
      largest = Math.max(largest, version.levelBytes(level));
    }
    return largest;
  }

  private static byte[] min(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b) <= 0 ? a : b;
  }

  private static byte[] max(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b) >= 0 ? a : b;
  }
}
