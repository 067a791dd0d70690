package io.kvsep.internal.compaction;

import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.version.LevelSums;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;

/**
 * Estimates how many log bytes the upper levels of a version may free below them. Values become
 * known garbage only when a compaction drops their entries, and tables are too short beside values
 * for their length to matter.
 *
 * <p>Each entry is assumed to replace one below, and to free the larger of its own value's length
 * and the average below; a tombstone or inline value frees the average. Range deletes free what
 * they cover.
 *
 * <p>A table wholly newer than the oldest reader counts as nothing. The oldest table of level 0
 * counts as lying below the others there.
 *
 * <p>A level is due if it and the levels above may free a given part of all values below:
 *
 * <ul>
 *   <li>I1: The last level is never due, nor is one with no values below it.
 *   <li>I2: Compactions terminate: each takes its inputs to a deeper level and nothing moves up, so
 *       the sum of the heights of all entries falls.
 *   <li>I3: If no level is due, garbage above the lowest values is less than that part of them, or
 *       not worth the work.
 * </ul>
 *
 * <p>Costs additions per level, a walk over the tables while one may be newer than a reader, and
 * one over range deletes.
 */
final class GarbageEstimate {
  private static final int LAST = Version.LEVELS - 1;

  /** Average value bytes of an entry in the levels below. */
  private final double[] entryBytesBelow = new double[Version.LEVELS];

  private final double[] hidden = new double[Version.LEVELS];
  private final double[] scores = new double[Version.LEVELS];
  private final double total;
  private final Version version;
  private final long oldestReader;

  /**
   * @param oldestReader the lowest sequence number at which anything may be read
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
        // The other tables of level 0 may replace entries of it.
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

  /** How many times over its limit a level is, with those above; due from 1 on. */
  double score(int level) {
    return scores[level];
  }

  /** Bytes that all levels together may free. */
  double total() {
    return total;
  }

  /** Bytes that a table of the level may free below it. */
  double of(int level, TableFile table) {
    if (table.meta().smallestSequence() > oldestReader) {
      return 0;
    }
    long entries = table.meta().entryCount();
    return estimate(level, entries, table.recordCount(), table.valueBytes())
        + ofRanges(level, table);
  }

  /** Bytes that the table's range deletes cover below; 0 if unreadable. */
  private double ofRanges(int level, TableFile table) {
    if (table.meta().rangeCount() == 0) {
      return 0;
    }
    RangeTombstones ranges;
    try {
      ranges = table.rangeTombstones();
    } catch (RuntimeException e) {
      // Reads and compactions of the table report it.
      return 0;
    }
    return RangeDeleteEstimate.below(version, level, table, ranges, oldestReader);
  }

  /** Readers that see all of the version's tables are equivalent. */
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
