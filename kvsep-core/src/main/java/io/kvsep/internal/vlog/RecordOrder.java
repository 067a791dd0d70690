package io.kvsep.internal.vlog;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import java.util.HashMap;
import java.util.Map;

/**
 * Counts records that are stored in the order in which they are read. Receives records in key
 * order: one is in order if it starts where the previous one ends. Not thread safe.
 */
public final class RecordOrder {
  /** The gain for longer records was not measured. */
  public static final long SCATTERED_BYTES_MAX = 32 << 10;

  /** Records that may be between two in order, since they may be dead. */
  private static final int GAP_RECORDS_MAX = 3;

  /** Records of one segment. */
  public static final class Count {
    private long records;
    private long bytes;
    private long inOrder;

    public long records() {
      return records;
    }

    public long bytes() {
      return bytes;
    }

    public long inOrder() {
      return inOrder;
    }
  }

  private final Map<Long, Count> counts = new HashMap<>();
  private Count last = new Count();
  private long lastSegment = -1;
  private long end;

  /** By segment. */
  public Map<Long, Count> counts() {
    return counts;
  }

  /** Adds the records of up to {@code entriesMax} entries, and moves behind them. */
  public void addAll(InternalIterator entries, int entriesMax) {
    for (int i = 0; i < entriesMax && entries.isValid(); i++) {
      int kind = Tag.kind(entries.tag());
      if (Tag.baseKind(kind) == Tag.POINTER) {
        add(entries.payloadRegion(), entries.payloadOffset() + Payload.headerLength(kind));
      }
      entries.next();
    }
    Region.requirePagesRead();
  }

  public void add(Region pointer, long pointerOffset) {
    long segment = ValuePointer.segment(pointer, pointerOffset);
    long offset = ValuePointer.offset(pointer, pointerOffset);
    int length = ValuePointer.recordLength(pointer, pointerOffset);
    boolean follows =
        segment == lastSegment && offset >= end && offset - end <= (long) GAP_RECORDS_MAX * length;
    if (segment != lastSegment) {
      last = counts.computeIfAbsent(segment, id -> new Count());
      lastSegment = segment;
    }
    last.records++;
    last.bytes += length;
    last.inOrder += follows ? 1 : 0;
    end = offset + length;
  }

  /** Whether most of so many records are out of order. */
  public static boolean isScattered(long records, long inOrder) {
    return inOrder < records - inOrder;
  }
}
