package io.kvsep.internal.compaction;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.version.LevelSums;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;

/**
 * How many bytes of the log the upper levels of a version may set free below themselves. Values are
 * garbage, and known to be, only when a compaction drops the entries that point to them; the tables
 * that this depends on are tiny beside the values, so their own length says nothing.
 *
 * <p>An entry is taken to replace one below. What it frees is estimated as the larger of what the
 * entry itself points to and what an entry below points to on average; of a tombstone, or of a
 * value beside its key, only the latter is known. Deleted ranges free what they cover below.
 *
 * <p>Nothing is set free that somebody reads: a table all of which is newer than the oldest reader
 * counts for nothing until that one is gone.
 *
 * <p>The oldest table of level 0 counts as one below the others there.
 *
 * <p>A level is due when it and the levels above it, together, may set free as much as a certain
 * part of all values below. That is why this ends, and what holds when it has ended:
 *
 * <ul>
 *   <li>The last level is never due, nor is one with no values below it.
 *   <li>Whatever is chosen takes every input to a deeper level, and nothing here takes any up: the
 *       sum of the heights of all entries falls with each choice.
 *   <li>Where no level is due, what hides above the lowest values is less than that part of them,
 *       or less than the least that is worth the work.
 * </ul>
 *
 * <p>Costs a few additions a level; a walk over the tables while one may be newer than a reader,
 * and one over deleted ranges.
 */
final class GarbageEstimate {
  private static final int LAST = Version.LEVELS - 1;

  /** What an entry of the levels below a level points to on average. */
  private final double[] entryBytesBelow = new double[Version.LEVELS];

  private final double[] hidden = new double[Version.LEVELS];
  private final double[] scores = new double[Version.LEVELS];
  private final double total;
  private final Version version;
  private final long oldestReader;

  /** Whether a table whose deleted ranges count could not be read; another try may succeed. */
  private volatile boolean unread;

  /**
   * @param oldestReader the lowest sequence number somebody may read at
   */
  GarbageEstimate(Version version, CompactionConfig config, long oldestReader) {
    this.version = version;
    this.oldestReader = newestThatMatters(version, oldestReader);
    double valueBytesBelow = 0;
    double entriesBelow = 0;
    double[] below = new double[Version.LEVELS];
    for (int level = LAST; level >= 0; level--) {
      LevelSums sums = version.sums(level);
      if (level == 0 && version.tables(0).length > 1) {
        // What the other tables of level 0 replace may be in the oldest one.
        TableFile oldest = oldestOfLevelZero(version);
        valueBytesBelow += oldest.valueBytes();
        entriesBelow += oldest.meta().entryCount();
      }
      below[level] = valueBytesBelow;
      entryBytesBelow[level] = entriesBelow == 0 ? 0 : valueBytesBelow / entriesBelow;
      hidden[level] = this.oldestReader == Long.MAX_VALUE ? ofLevel(level, sums) : ofTables(level);
      valueBytesBelow += sums.valueBytes();
      entriesBelow += sums.entries();
    }
    double together = 0;
    for (int level = 0; level < LAST; level++) {
      together += hidden[level];
      double limit =
          Math.max((double) config.hiddenBytesMin(), config.hiddenFraction() * below[level]);
      boolean frees = below[level] > 0 && hidden[level] > 0;
      scores[level] = frees ? together / limit : 0;
    }
    total = Math.min(together, below[0]);
  }

  boolean isOf(Version other, long otherReader) {
    return version == other && oldestReader == newestThatMatters(other, otherReader);
  }

  /** Whether all of it could be read that another try might give. */
  boolean isComplete() {
    return !unread;
  }

  /** How many times over its limit a level is, with those above it; due from 1 on. */
  double score(int level) {
    return scores[level];
  }

  /** What all levels together may set free. */
  double total() {
    return total;
  }

  /** What a table of the level may set free below it. */
  double of(int level, TableFile table) {
    if (table.meta().smallestSequence() > oldestReader) {
      return 0;
    }
    long entries = table.meta().entryCount();
    return estimate(level, entries, table.recordCount(), table.valueBytes())
        + ofRanges(level, table);
  }

  /** What the deleted ranges of a table cover below it; nothing where they cannot be read. */
  private double ofRanges(int level, TableFile table) {
    if (table.meta().rangeCount() == 0) {
      return 0;
    }
    RangeTombstones ranges;
    try {
      ranges = table.rangeTombstones();
    } catch (CorruptionException | IncompatibleFormatException e) {
      // For good. Reads of its keys say so, and so does whoever compacts it.
      return 0;
    } catch (RuntimeException e) {
      unread = true;
      return 0;
    }
    return RangeDeleteEstimate.below(version, level, table, ranges, oldestReader);
  }

  /** Readers that see all of the version's tables are all the same. */
  private static long newestThatMatters(Version version, long oldestReader) {
    return oldestReader >= version.lastSequence() ? Long.MAX_VALUE : oldestReader;
  }

  private static TableFile oldestOfLevelZero(Version version) {
    TableFile[] tables = version.tables(0);
    return tables[tables.length - 1];
  }

  private double ofTables(int level) {
    double bytes = 0;
    if (level < LAST) {
      for (TableFile table : version.tables(level)) {
        bytes += isBelowItsLevel(level, table) ? 0 : of(level, table);
      }
    }
    return bytes;
  }

  private boolean isBelowItsLevel(int level, TableFile table) {
    return level == 0 && version.tables(0).length > 1 && table == oldestOfLevelZero(version);
  }

  private double ofLevel(int level, LevelSums sums) {
    if (level == 0) {
      return ofTables(level);
    }
    double bytes = estimate(level, sums.entries(), sums.records(), sums.valueBytes());
    for (TableFile table : version.rangeTables(level)) {
      bytes += ofRanges(level, table);
    }
    return bytes;
  }

  private double estimate(int level, long entries, long records, long valueBytes) {
    double average = entryBytesBelow[level];
    if (average == 0) {
      return valueBytes;
    }
    return Math.max((double) valueBytes, records * average) + (entries - records) * average;
  }
}
