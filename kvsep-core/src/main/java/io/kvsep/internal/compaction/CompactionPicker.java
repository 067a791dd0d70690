package io.kvsep.internal.compaction;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.LevelSums;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the next compaction. Leveled, with targets computed upwards from the largest level, so
 * that nine tenths of the data are in one level. Pure: the result depends only on the arguments.
 */
public final class CompactionPicker {
  private static final int LAST = Version.LEVELS - 1;

  /** Tables below this part of the usual length are merged rather than moved. */
  private static final int SMALL_TABLE_FRACTION = 4;

  /** A table this short is always worth rewriting with its neighbour. */
  private static final long SMALL_TABLE_BYTES = 64 << 10;

  /** A neighbour is small up to this many times the length of the inputs. */
  private static final int LEVEL_ZERO_NEIGHBOUR_FACTOR = 4;

  /**
   * From this score on, a level precedes single tables that are due. Scores for garbage are capped
   * here, so that a fuller level 0, which alone slows writers down, comes first.
   */
  static final int URGENT_SCORE = 2;

  /** Level 0 is merged into a level up to this many times its length without one in between. */
  private static final long BASE_FACTOR = 4;

  /** Twice what a table of a full level overlaps in the next one. */
  private static final long TOMBSTONE_REWRITE_FACTOR = 2L * CompactionConfig.LEVEL_MULTIPLIER;

  private final CompactionConfig config;

  /** Most calls find the same version again. */
  private volatile @Nullable GarbageEstimate lastHidden;

  public CompactionPicker(CompactionConfig config) {
    this.config = config;
  }

  /** Whether it takes too long for writers to wait to read these tables. */
  public boolean isLong(List<TableFile> tables) {
    return bytes(tables) > config.stepBytesMax();
  }

  /**
   * The most urgent compaction that uses no {@code busy} table; null if nothing is due.
   *
   * @param busy tables that cannot be taken
   * @param blocked those of them for which level 0 does not wait
   * @param nowMillis decides what has expired
   * @param oldestReader the lowest sequence number at which anything may be read
   */
  public @Nullable CompactionPlan pick(
      Version version,
      Set<TableFile> busy,
      Set<TableFile> blocked,
      long nowMillis,
      long oldestReader) {
    int base = baseLevel(version, blocked);
    GarbageEstimate hidden = hidden(version, oldestReader);
    double[] scores = new double[LAST];
    Integer[] byScore = new Integer[LAST];
    for (int level = 0; level < LAST; level++) {
      byScore[level] = level;
      scores[level] = score(version, level, base, hidden);
    }
    Arrays.sort(byScore, (a, b) -> Double.compare(scores[b], scores[a]));
    // Here, or single tables would wait while writers keep levels full.
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
   * Picks a table that is due regardless of its level's size: expired entries, mostly tombstones,
   * or leftovers of closed snapshots. It moves one level down or, in the last level, is rewritten.
   * This terminates: a rewrite drops all tombstones, range deletes and hidden entries, or what has
   * expired, see {@link TableFile#expiryDueMillis}.
   */
  private @Nullable CompactionPlan pickSingle(
      Version version, int base, Set<TableFile> busy, long nowMillis, long oldestReader) {
    for (int level = 0; level < Version.LEVELS; level++) {
      LevelSums sums = version.sums(level);
      CompactionPlan plan = null;
      if (sums.expiryDueMillis() <= nowMillis) {
        plan =
            level == 0
                ? pickLevelZero(version, base, busy, /* mayMove= */ true)
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
   * In the last level, tombstones, range deletes and hidden entries are left over from snapshots. A
   * rewrite drops them once no reader is older.
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

  /** Tables of the last level with leftovers of snapshots that are not mostly tombstones. */
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
    // With nothing below, a merge drops the entries, a move does not.
    return plan != null && plan.move() && plan.bottom() && dropsAtBottom
        ? plan(version, level, level + 1, List.of(table), busy, /* mayMove= */ false)
        : plan;
  }

  /** Rewrites adjacent tables of the last level in place. */
  static CompactionPlan rewrite(List<TableFile> tables) {
    return new CompactionPlan(LAST, LAST, tables, List.of(), /* bottom= */ true, /* move= */ false);
  }

  private @Nullable CompactionPlan pickFrom(
      Version version, int level, int base, GarbageEstimate hidden, Set<TableFile> busy) {
    if (level == 0) {
      return pickLevelZero(version, base, busy, /* mayMove= */ true);
    }
    boolean forValues = hidden.score(level) > lengthScore(version, level, base);
    return forValues
        ? pickForValues(version, level, hidden, busy)
        : pickForLength(version, level, busy);
  }

  /** How many times over its limits a level is; due from 1 on. */
  public double score(Version version, int level, int base, long oldestReader) {
    return score(version, level, base, hidden(version, oldestReader));
  }

  private double score(Version version, int level, int base, GarbageEstimate hidden) {
    double forValues = Math.min(hidden.score(level), URGENT_SCORE);
    return Math.max(lengthScore(version, level, base), forValues);
  }

  /** Estimated log bytes that tables point to although tables above replace them. */
  public double hiddenInLog(Version version, long oldestReader) {
    return hidden(version, oldestReader).total();
  }

  private GarbageEstimate hidden(Version version, long oldestReader) {
    GarbageEstimate hidden = lastHidden;
    if (hidden == null || !hidden.isOf(version, oldestReader)) {
      hidden = new GarbageEstimate(version, config, oldestReader);
      lastHidden = hidden;
    }
    return hidden;
  }

  private double lengthScore(Version version, int level, int base) {
    if (level == 0) {
      return version.tables(0).length / (double) config.levelZeroTables();
    }
    long bytes = version.levelBytes(level);
    return bytes == 0 ? 0 : bytes / (double) target(version, level, base);
  }

  /**
   * The level into which level 0 is compacted: the highest one whose target reaches the base, or
   * that level 0 is long enough for. Never below a level with tables, which are older, and above a
   * level with a {@code blocked} table, so that level 0 does not fill up.
   */
  public int baseLevel(Version version, Set<TableFile> blocked) {
    long bytes = largestLevelBytes(version);
    int base = LAST;
    long most = Math.max(config.levelBaseBytes(), BASE_FACTOR * version.levelBytes(0));
    while (bytes > most && base > 1) {
      base--;
      bytes /= CompactionConfig.LEVEL_MULTIPLIER;
    }
    for (int level = 1; level < base; level++) {
      if (version.tables(level).length > 0) {
        base = level;
      }
    }
    return base > 1 && Arrays.stream(version.tables(base)).anyMatch(blocked::contains)
        ? base - 1
        : base;
  }

  /**
   * A step that brings entries of a level down into the next non-empty level, or the last one; of
   * level 0 into its base level.
   *
   * @param newest ignores tables that are newer
   * @param blocked see {@link #pick}
   */
  public @Nullable CompactionPlan pickStep(
      Version version, int level, long newest, Set<TableFile> busy, Set<TableFile> blocked) {
    if (level == 0) {
      boolean isDue =
          Arrays.stream(version.tables(0)).anyMatch(it -> it.meta().smallestSequence() <= newest);
      int base = baseLevel(version, blocked);
      return isDue ? pickLevelZero(version, base, busy, /* mayMove= */ false) : null;
    }
    CompactionPlan step = null;
    List<TableFile> run = new ArrayList<>();
    for (TableFile table : version.tables(level)) {
      if (step == null && table.meta().smallestSequence() > newest) {
        continue;
      }
      run.add(table);
      CompactionPlan longer =
          plan(version, level, nextHeld(version, level), run, busy, /* mayMove= */ false);
      if (step != null && (longer == null || isLong(longer.tables()))) {
        break;
      }
      if (longer == null) {
        run.clear();
      }
      step = longer;
    }
    return step;
  }

  static int nextHeld(Version version, int level) {
    int next = level + 1;
    while (next < LAST && version.tables(next).length == 0) {
      next++;
    }
    return next;
  }

  /**
   * The first rewrite in the last level behind a key: adjacent tables that fit into one, or a
   * {@code stale} table.
   */
  public @Nullable CompactionPlan pickRewrite(
      Version version, byte[] after, Set<TableFile> busy, Predicate<TableFile> stale) {
    List<TableFile> run = new ArrayList<>();
    for (TableFile table : version.tables(LAST)) {
      if (Arrays.compareUnsigned(table.meta().smallestKey(), after) > 0) {
        boolean taken = busy.contains(table);
        if (taken || table.meta().fileBytes() > config.tableBytes() - bytes(run)) {
          if (isWorthRewriting(run, stale)) {
            break;
          }
          run.clear();
        }
        if (!taken) {
          run.add(table);
        }
      }
    }
    return isWorthRewriting(run, stale) ? rewrite(run) : null;
  }

  private static boolean isWorthRewriting(List<TableFile> run, Predicate<TableFile> stale) {
    return run.size() > 1 || run.stream().anyMatch(stale);
  }

  @Nullable CompactionPlan pickLevelZero(
      Version version, int base, Set<TableFile> busy, boolean mayMove) {
    TableFile[] tables = version.tables(0);
    for (TableFile table : tables) {
      if (busy.contains(table)) {
        return null;
      }
    }
    // Tables that stay hold none of these keys.
    List<TableFile> inputs = overlappingInLevelZero(version, tables[tables.length - 1]);
    boolean small = bytes(inputs) < config.tableBytes() / SMALL_TABLE_FRACTION;
    CompactionPlan all =
        small ? plan(version, 0, base, List.of(tables), busy, /* mayMove= */ false) : null;
    boolean moves = mayMove && !small && inputs.size() == 1;
    return all == null ? plan(version, 0, base, inputs, busy, moves) : all;
  }

  /** A table of level 0 and all that it overlaps there, transitively. */
  private static List<TableFile> overlappingInLevelZero(Version version, TableFile first) {
    Set<TableFile> found = new LinkedHashSet<>(List.of(first));
    boolean grew = true;
    while (grew) {
      grew = found.addAll(overlapping(version, 0, found));
    }
    return List.copyOf(found);
  }

  /** Tables of a level between the smallest and the largest key of others. */
  private static List<TableFile> overlapping(
      Version version, int level, Collection<TableFile> others) {
    return version.overlapping(
        level, CompactionPlan.smallestKey(others), CompactionPlan.largestKey(others));
  }

  /** The table whose move down rewrites least below, relative to its own length. */
  @Nullable CompactionPlan pickForLength(Version version, int level, Set<TableFile> busy) {
    return pickTable(version, level, busy, table -> table.meta().fileBytes());
  }

  /** The table that frees most values relative to what is rewritten. */
  private @Nullable CompactionPlan pickForValues(
      Version version, int level, GarbageEstimate hidden, Set<TableFile> busy) {
    return pickTable(version, level, busy, table -> hidden.of(level, table));
  }

  /** The table with the highest gain per rewritten byte, or one that moves unread. */
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
    List<TableFile> overlaps = overlapping(version, outputLevel, inputs);
    if (!Collections.disjoint(inputs, busy) || !Collections.disjoint(overlaps, busy)) {
      return null;
    }
    if (inputLevel == 0) {
      overlaps = withSmallNeighbours(version, outputLevel, overlaps, inputs, busy);
    }
    List<TableFile> tables = new ArrayList<>(inputs);
    tables.addAll(overlaps);
    boolean bottom = true;
    for (int level = outputLevel + 1; level < Version.LEVELS; level++) {
      bottom &= overlapping(version, level, tables).isEmpty();
    }
    boolean move = mayMove && overlaps.isEmpty();
    return new CompactionPlan(inputLevel, outputLevel, inputs, overlaps, bottom, move);
  }

  /**
   * Adds the tables just before and after the inputs if they are small. Otherwise small flushes of
   * ever new keys would leave a table each for good.
   */
  private List<TableFile> withSmallNeighbours(
      Version version,
      int level,
      List<TableFile> overlaps,
      List<TableFile> inputs,
      Set<TableFile> busy) {
    TableFile[] tables = version.tables(level);
    byte[] smallest = CompactionPlan.smallestKey(inputs);
    byte[] largest = CompactionPlan.largestKey(inputs);
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
}
