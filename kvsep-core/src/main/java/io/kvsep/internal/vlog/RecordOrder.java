package io.kvsep.internal.vlog;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import java.util.HashMap;
import java.util.Map;

/**
 * Counts records that are stored in the order of reading. Receives records in key order; one is in
 * order if it follows the previous one of its segment after at most a small gap. Not thread safe.
 */
public final class RecordOrder {
  /** The gain for longer records was not measured. */
  public static final long SCATTERED_BYTES_MAX = 32 << 10;

  /** Longest gap between records in order, in records: those in it may be dead. */
  private static final int GAP_RECORDS_MAX = 3;

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

  /** Adds the records of up to {@code entriesMax} entries, and advances past them. */
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

  public static boolean isScattered(long records, long inOrder) {
    return inOrder < records - inOrder;
  }
}
