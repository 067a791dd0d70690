package io.kvsep.internal.vlog;

import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.PageFault;
import io.kvsep.internal.memory.Region;

/**
 * Loads records of blob files into memory ahead of a scan in ascending order. A blob file holds its
 * values in key order, so what the scan reads next from it follows. A scan reads many such files in
 * turns: each has a range of its own, which doubles as long as the scan goes on in it.
 *
 * <p>Only a hint: a page that was evicted meanwhile is read again on access. Not thread safe; the
 * caller is inside an epoch.
 */
public final class OrderedReads {
  /** Ids of blob files are near each other, so few of a scan share a slot. */
  private static final int SLOTS = 1 << 10;

  private static final int AHEAD_MIN = 4 << 10;
  private static final int AHEAD_MAX = 128 << 10;

  private final SegmentDirectory directory;
  private final ColdReadPolicy cold;
  private final long[] segments = new long[SLOTS];

  /** What was loaded, by slot. */
  private final long[] starts = new long[SLOTS];

  private final long[] ends = new long[SLOTS];

  OrderedReads(SegmentDirectory directory) {
    this.directory = directory;
    this.cold = directory.cold();
  }

  /**
   * Loads a record; returns false, with nothing done, if it is not in a blob file.
   *
   * @param goesOn whether the scan reads most values
   */
  public boolean load(Region pointer, long pointerOffset, boolean goesOn) {
    long segment = ValuePointer.segment(pointer, pointerOffset);
    long offset = ValuePointer.offset(pointer, pointerOffset);
    int length = ValuePointer.recordLength(pointer, pointerOffset);
    int slot = (int) segment & (SLOTS - 1);
    return (segments[slot] == segment && offset >= starts[slot] && length <= ends[slot] - offset)
        || loadMore(slot, segment, offset, length, goesOn);
  }

  private boolean loadMore(int slot, long id, long offset, int length, boolean goesOn) {
    Segment segment = directory.find(id);
    if (segment == null
        || !segment.isRelocated()
        || offset < 0
        || length <= 0
        || length > segment.publishedEnd() - offset) {
      return false;
    }
    long end = offset + length;
    Region region = segment.mapped(end, length);
    if (region == null) {
      return false;
    }
    long ahead = 0;
    if (goesOn
        && segments[slot] == id
        && offset >= starts[slot]
        && offset - ends[slot] <= AHEAD_MAX) {
      ahead = Math.min(AHEAD_MAX, Math.max(AHEAD_MIN, 2 * (ends[slot] - starts[slot])));
    }
    long aheadEnd = Math.min(offset + ahead, segment.publishedEnd());
    if (aheadEnd > end && isReadable(region, offset, aheadEnd)) {
      end = aheadEnd;
    } else {
      cold.load(region, offset, length);
    }
    segments[slot] = id;
    starts[slot] = offset;
    ends[slot] = end;
    return true;
  }

  /** Loads a range. A page of it that cannot be read is left to the reader of its record. */
  private boolean isReadable(Region region, long offset, long end) {
    // The caller's own page faults are not caught here.
    Region.requirePagesRead();
    try {
      cold.load(region, offset, end - offset);
      Region.requirePagesRead();
      return true;
    } catch (InternalError e) {
      if (!PageFault.is(e)) {
        throw e;
      }
      return false;
    }
  }
}
