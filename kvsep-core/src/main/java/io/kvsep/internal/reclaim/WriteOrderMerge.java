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
 * Tells of which segments the records lie in another order than their keys, by a walk over the
 * beginning of the table that uses most of a segment: a record is in order when the next key's
 * value lies right behind it. One such walk tells of all segments that come up often enough. What
 * was found is kept for as long as the segment is there. Of a segment that does not come up in that
 * table's beginning it is held that it is in order.
 *
 * <p>Not thread safe.
 */
public final class WriteOrderMerge {
  /** Records of a segment that tell, if its own table was not looked at. */
  private static final int RECORDS_MIN = 64;

  /** Entries of a table that are walked. */
  private static final int ENTRIES_MAX = 1 << 15;

  /** Entries walked between two looks at the world. */
  private static final int STEP_ENTRIES = 1 << 12;

  /** Tables that are walked before there is a first answer, and something to do. */
  private static final int TABLES_MAX = 8;

  private final MemoryLedger ledger;
  private final Map<Long, Boolean> scattered = new HashMap<>();

  public WriteOrderMerge(MemoryLedger ledger) {
    this.ledger = ledger;
  }

  /** Whether it is known of a segment that most of its records are out of order. */
  public boolean isScattered(long segment) {
    return scattered.getOrDefault(segment, false);
  }

  /**
   * Looks at some of the segments of which nothing is known yet.
   *
   * @param version retained by the caller
   * @return whether something is known of all of them now
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

  /** How many records of a segment came up, and how many of these lie in order. */
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

  /** By segment, the table that uses most records of it. */
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
   * Outside the epochs: the iterator pins its table, and the pointers in it are compared and not
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

  /** Where a walk over a table is. */
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
