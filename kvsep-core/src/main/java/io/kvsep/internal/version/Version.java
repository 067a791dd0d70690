package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.concurrent.PinCount;
import io.kvsep.internal.memory.Region;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The files of the store at one moment: tables by level, segments, and the bytes of each segment
 * that tables reference. Immutable, so reading takes no lock.
 *
 * <p>A version is alive while it has a holder: the version set for the current one, and readers.
 * Files of a live version are not deleted. A dead version stays dead.
 */
public final class Version {
  /** Enough for any store: each level has ten times the target of the one above. */
  public static final int LEVELS = 7;

  private final Level[] levels;
  private final SegmentLiveness liveness;
  private final KeyspaceIds keyspaces;
  private final BackupLineage history;
  private final int tableCount;
  private final int lastLevel;
  private final long entryCount;
  private final LogPosition replayFrom;
  private final long lastSequence;

  /** Starts with the hold of the creator. */
  private final PinCount holders;

  /** Takes ownership of the arrays. */
  Version(
      LiveFiles liveFiles,
      Level[] levels,
      SegmentLiveness liveness,
      KeyspaceIds keyspaces,
      BackupLineage history,
      LogPosition replayFrom,
      long lastSequence) {
    this.holders = new PinCount(() -> liveFiles.died(this));
    this.levels = levels;
    this.liveness = liveness;
    this.keyspaces = keyspaces;
    this.history = history;
    this.replayFrom = replayFrom;
    this.lastSequence = lastSequence;
    int count = 0;
    int last = 0;
    long entries = 0;
    for (int i = 0; i < levels.length; i++) {
      Level level = levels[i];
      count += level.tables.length;
      entries += level.sums.entries();
      last = level.tables.length > 0 ? i : last;
    }
    this.tableCount = count;
    this.lastLevel = last;
    this.entryCount = entries;
  }

  /** Level 0: newest first. Others: ascending and disjoint by key. */
  public List<TableFile> level(int level) {
    return levels[level].asList();
  }

  /** Like {@link #level}; the array must not be modified. */
  public TableFile[] tables(int level) {
    return levels[level].tables;
  }

  /** The {@link #tables} with range deletes; must not be modified. */
  public TableFile[] rangeTables(int level) {
    return levels[level].rangeTables;
  }

  /**
   * The only table of a level from 1 on that may have the key, or null. Allocates nothing; compares
   * about log2(tables) numbers and one or two keys.
   */
  public @Nullable TableFile find(int level, Region key, long offset, int length) {
    if (level == 0) {
      throw new IllegalArgumentException("tables of level 0 overlap");
    }
    return levels[level].find(key, offset, length);
  }

  /** Both ends are inclusive. */
  public List<TableFile> overlapping(int level, byte[] smallest, byte[] largest) {
    return levels[level].overlapping(smallest, largest);
  }

  /** In a level from 1 on, the first of its tables that does not end before the key. */
  public int firstEndingAtOrAfter(int level, byte[] key) {
    return levels[level].firstEndingAtOrAfter(key);
  }

  /** Sums over the tables with these indexes in a level, {@code to} exclusive; O(1). */
  public TableSums sums(int level, int from, int to) {
    return levels[level].sums(from, to);
  }

  /** Sum of the file lengths of a level's tables. */
  public long levelBytes(int level) {
    return levels[level].bytes;
  }

  public LevelSums sums(int level) {
    return levels[level].sums;
  }

  public int tableCount() {
    return tableCount;
  }

  /** 0 if all are empty. */
  public int lastLevel() {
    return lastLevel;
  }

  /** Counts every version and tombstone. */
  public long entryCount() {
    return entryCount;
  }

  public long tableBytes() {
    long bytes = 0;
    for (Level level : levels) {
      bytes += level.bytes;
    }
    return bytes;
  }

  /** By id; unmodifiable. */
  public SortedMap<Long, SegmentState> segments() {
    return liveness.segments().asMap();
  }

  /** Record bytes that tables reference; 0 for an unknown segment. */
  public long liveBytes(long segment) {
    return liveness.liveBytes(segment);
  }

  /**
   * {@link #liveBytes(long)} by segment file: the sum over the segments with that home. A new map;
   * costs a walk over the segments.
   */
  public SortedMap<Long, Long> liveBytesByFile() {
    SortedMap<Long, Long> bytes = new TreeMap<>();
    for (SegmentState segment : segments().values()) {
      bytes.merge(segment.home(), liveness.liveBytes(segment.id()), Long::sum);
    }
    return bytes;
  }

  public long liveBytes() {
    return liveness.total();
  }

  /** Ids by name; unmodifiable. */
  public SortedMap<String, Integer> keyspaces() {
    return keyspaces.byName();
  }

  public int nextKeyspace() {
    return keyspaces.next();
  }

  public LogPosition replayFrom() {
    return replayFrom;
  }

  public BackupLineage history() {
    return history;
  }

  /** Highest sequence number that the tables cover. */
  public long lastSequence() {
    return lastSequence;
  }

  /** False if the version has died; the caller then takes the current one. */
  public boolean tryRetain() {
    return holders.tryPin();
  }

  /** The last release reports the files that no other version holds. */
  public void release() {
    holders.unpin();
  }

  Level[] levels() {
    return levels;
  }

  KeyspaceIds keyspaceIds() {
    return keyspaces;
  }

  SegmentLiveness liveness() {
    return liveness;
  }

  /**
   * The oldest of the newest sealed log segments that together have {@code retainedBytes}: it and
   * all later ones are retained. Costs a walk over the segments.
   */
  public long retainedFrom(long retainedBytes) {
    long from = Long.MAX_VALUE;
    if (retainedBytes == 0) {
      return from;
    }
    SortedMap<Long, SegmentState> segments = segments();
    long newer = 0;
    while (newer < retainedBytes && !segments.isEmpty()) {
      SegmentState newest = Objects.requireNonNull(segments.get(segments.lastKey()));
      if (newest.isLog()) {
        from = newest.id();
        newer += newest.isSealed() ? newest.sealedLength() : 0;
      }
      segments = segments.headMap(newest.id());
    }
    return from;
  }
}
