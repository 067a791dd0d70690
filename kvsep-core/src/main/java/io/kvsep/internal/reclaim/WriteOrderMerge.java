package io.kvsep.internal.reclaim;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.RecordOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Detects segments whose records are not in key order. Walks the beginning of the table that
 * references most of a segment: a record is in order if the value of the next key directly follows
 * it. One walk covers every segment that occurs often enough. Results are kept while the segment
 * exists. A segment that does not occur in the beginning of that table counts as ordered.
 *
 * <p>Not thread safe.
 */
public final class WriteOrderMerge {
  /** Minimum number of records to judge a segment in a walk for another segment. */
  private static final int RECORDS_MIN = 64;

  /** Entries visited per table. */
  private static final int ENTRIES_MAX = 1 << 15;

  /** Entries visited between two checks for cancellation. */
  private static final int STEP_ENTRIES = 1 << 12;

  /** Tables visited per call, so that a first result, and work, is available soon. */
  private static final int TABLES_MAX = 8;

  private final MemoryLedger ledger;
  private final Map<Long, Boolean> scattered = new HashMap<>();

  public WriteOrderMerge(MemoryLedger ledger) {
    this.ledger = ledger;
  }

  /** Whether most records of the segment are known to be out of order. */
  public boolean isScattered(long segment) {
    return scattered.getOrDefault(segment, false);
  }

  /**
   * Examines some of the segments that are not known yet.
   *
   * @param version retained by the caller
   * @return whether all segments are known now
   */
  public boolean learn(Version version, Set<Long> segments, BooleanSupplier cancelled) {
    scattered.keySet().retainAll(version.segments().keySet());
    if (scattered.keySet().containsAll(segments)) {
      return true;
    }
    Map<Long, TableFile> users = largestUsers(version);
    int walked = 0;
    for (long segment : segments) {
      if (scattered.containsKey(segment)) {
        continue;
      }
      if (walked++ == TABLES_MAX || cancelled.getAsBoolean()) {
        return false;
      }
      TableFile user = users.get(segment);
      Map<Long, Tally> tallies = user == null ? Map.of() : tallies(user, cancelled);
      tallies.forEach(
          (id, tally) -> {
            if (id == segment || tally.records >= RECORDS_MIN) {
              scattered.putIfAbsent(id, tally.isScattered());
            }
          });
      if (cancelled.getAsBoolean()) {
        return false;
      }
      scattered.putIfAbsent(segment, false);
    }
    return true;
  }

  private static final class Tally {
    private int records;
    private int inOrder;

    void add(boolean isInOrder) {
      records++;
      inOrder += isInOrder ? 1 : 0;
    }

    boolean isScattered() {
      return inOrder < records - inOrder;
    }
  }

  /** By segment, the table that references most of its records. */
  private static Map<Long, TableFile> largestUsers(Version version) {
    Map<Long, TableFile> users = new HashMap<>();
    Map<Long, Long> most = new HashMap<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        for (SegmentUse use : table.meta().segments()) {
          if (use.records() > most.getOrDefault(use.segment(), 0L)) {
            most.put(use.segment(), use.records());
            users.put(use.segment(), table);
          }
        }
      }
    }
    return users;
  }

  /**
   * Runs outside the epochs: the iterator pins its table, and pointers are compared but not
   * followed.
   */
  private Map<Long, Tally> tallies(TableFile table, BooleanSupplier cancelled) {
    Walk walk = new Walk();
    boolean begun = false;
    int rest = ENTRIES_MAX;
    try (InternalIterator entries = table.iterator(ledger)) {
      while (rest > 0 && !cancelled.getAsBoolean() && (!begun || entries.isValid())) {
        if (!begun) {
          entries.seekToFirst();
          begun = true;
        }
        walk.over(entries, Math.min(rest, STEP_ENTRIES));
        rest -= STEP_ENTRIES;
      }
      return walk.tallies;
    }
  }

  private static final class Walk {
    private final Map<Long, Tally> tallies = new HashMap<>();
    private long segment;
    private long end = -1;

    void over(InternalIterator entries, int count) {
      for (int i = 0; i < count && entries.isValid(); i++) {
        int kind = Tag.kind(entries.tag());
        if (Tag.baseKind(kind) == Tag.POINTER) {
          Region region = entries.payloadRegion();
          long at = entries.payloadOffset() + Payload.headerLength(kind);
          look(
              ValuePointer.segment(region, at),
              ValuePointer.offset(region, at),
              ValuePointer.recordLength(region, at));
        }
        entries.next();
      }
      Region.requirePagesRead();
    }

    private void look(long nextSegment, long offset, int length) {
      if (end >= 0) {
        boolean near = nextSegment == segment && RecordOrder.follows(end, offset, length);
        tallies.computeIfAbsent(segment, id -> new Tally()).add(near);
      }
      segment = nextSegment;
      end = offset + length;
    }
  }
}
