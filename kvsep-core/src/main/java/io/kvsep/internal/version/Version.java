package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.memory.Region;
import java.util.List;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The files that made up the store at one moment: tables by level, segments of the log, and how
 * many bytes of each segment the tables still need. Immutable, so that reading takes no lock.
 *
 * <p>A version is alive while somebody holds it: the version set holds the current one, readers
 * retain the one they work with. Files of a live version are not deleted. Reference counts hold
 * under races; a version that has died stays dead.
 */
public final class Version {
  /** Levels of every store; most have tables in few of them. */
  public static final int LEVELS = 7;

  private final LiveFiles liveFiles;
  private final Level[] levels;
  private final SegmentLiveness liveness;
  private final KeyspaceIds keyspaces;
  private final BackupLineage history;
  private final int tableCount;
  private final int lastLevel;
  private final long entryCount;
  private final LogPosition replayFrom;
  private final long lastSequence;

  /** Starts with the hold of whoever made the version. */
  private final AtomicInteger holders = new AtomicInteger(1);

  /** Takes the arrays over. */
  Version(
      LiveFiles liveFiles,
      Level[] levels,
      SegmentLiveness liveness,
      KeyspaceIds keyspaces,
      BackupLineage history,
      LogPosition replayFrom,
      long lastSequence) {
    this.liveFiles = liveFiles;
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

  /**
   * Level 0: newest first. Others: ascending by key, and no key lies in the range of two tables.
   */
  public List<TableFile> level(int level) {
    return levels[level].asList();
  }

  /** As {@link #level}; the array belongs to the version and must not be written to. */
  public TableFile[] tables(int level) {
    return levels[level].tables;
  }

  /** Those of {@link #tables} in which ranges are deleted; as that, not to be written to. */
  public TableFile[] rangeTables(int level) {
    return levels[level].rangeTables;
  }

  /**
   * The only table of a level from 1 on that may hold the key, or null. Allocates nothing; costs
   * about log2(tables) comparisons of numbers and one or two of keys.
   */
  public @Nullable TableFile find(int level, Region key, long offset, int length) {
    if (level == 0) {
      throw new IllegalArgumentException("tables of level 0 overlap");
    }
    return levels[level].find(key, offset, length);
  }

  /** Tables whose key range meets [{@code smallest}, {@code largest}], both ends inclusive. */
  public List<TableFile> overlapping(int level, byte[] smallest, byte[] largest) {
    return levels[level].overlapping(smallest, largest);
  }

  /** Sum of the file lengths of a level's tables. */
  public long levelBytes(int level) {
    return levels[level].bytes;
  }

  /** What a level's tables hold together. */
  public LevelSums sums(int level) {
    return levels[level].sums;
  }

  public int tableCount() {
    return tableCount;
  }

  /** The last level with tables in it, 0 when there are none. */
  public int lastLevel() {
    return lastLevel;
  }

  /** Entries of all tables, every version and tombstone counted. */
  public long entryCount() {
    return entryCount;
  }

  /** Sum of the file lengths of all tables. */
  public long tableBytes() {
    long bytes = 0;
    for (Level level : levels) {
      bytes += level.bytes;
    }
    return bytes;
  }

  /** All segments by id; read-only. */
  public SortedMap<Long, SegmentState> segments() {
    return liveness.segments().asMap();
  }

  /** Record bytes that the tables reference in a segment, exactly; 0 for a segment not in here. */
  public long liveBytes(long segment) {
    return liveness.liveBytes(segment);
  }

  /**
   * Record bytes that the tables reference in each segment file, by its id: those of all segments
   * whose home it is. Made for the caller; costs a walk over the segments.
   */
  public SortedMap<Long, Long> liveBytesByFile() {
    SortedMap<Long, Long> bytes = new TreeMap<>();
    for (SegmentState segment : segments().values()) {
      bytes.merge(segment.home(), liveness.liveBytes(segment.id()), Long::sum);
    }
    return bytes;
  }

  /** Record bytes that the tables reference in all segments. */
  public long liveBytes() {
    return liveness.total();
  }

  /** The keyspaces that have a name, with their ids; read-only. */
  public SortedMap<String, Integer> keyspaces() {
    return keyspaces.byName();
  }

  /** The id that the next keyspace gets. */
  public int nextKeyspace() {
    return keyspaces.next();
  }

  /** Where recovery of the log begins. */
  public LogPosition replayFrom() {
    return replayFrom;
  }

  /** What is remembered for backups. */
  public BackupLineage history() {
    return history;
  }

  /** The highest sequence number that the tables cover. */
  public long lastSequence() {
    return lastSequence;
  }

  /**
   * Holds the version until {@link #release}. False when it died meanwhile: the reader takes the
   * then current one instead.
   */
  public boolean tryRetain() {
    int count = holders.get();
    while (count != 0) {
      int witness = holders.compareAndExchange(count, count + 1);
      if (witness == count) {
        return true;
      }
      count = witness;
    }
    return false;
  }

  /** Lets go. Whoever lets go last reports the files that no other version holds. */
  public void release() {
    int count = holders.get();
    while (true) {
      if (count == 0) {
        throw new IllegalStateException("version released more often than retained");
      }
      int witness = holders.compareAndExchange(count, count - 1);
      if (witness == count) {
        break;
      }
      count = witness;
    }
    if (count == 1) {
      liveFiles.died(this);
    }
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
   * The oldest segment of the log that is to stay as it is, with all after it: the newest finished
   * ones that together have the bytes to be retained. Costs a walk over the segments.
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
