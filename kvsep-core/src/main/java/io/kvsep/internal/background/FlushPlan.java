package io.kvsep.internal.background;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.RecordOrder;
import java.util.HashMap;
import java.util.Map;

/**
 * The log records that a flush copies in key order.
 *
 * @param before only records of segments below this one are copied
 * @param valueBytesMax longer values are not copied
 * @param records upper bound of their number, by segment
 * @param bytes their total length
 * @param scattered whether most of them are not in key order yet
 */
public record FlushPlan(
    long before, int valueBytesMax, Map<Long, Long> records, long bytes, boolean scattered) {
  /**
   * Walks a memtable.
   *
   * @param before as {@link #before}
   * @param valueBytesMax as {@link #valueBytesMax}
   */
  public static FlushPlan of(InternalIterator memtable, long before, int valueBytesMax) {
    RecordOrder order = new RecordOrder();
    for (memtable.seekToFirst(); memtable.isValid(); memtable.next()) {
      int kind = Tag.kind(memtable.tag());
      Region payload = memtable.payloadRegion();
      long pointer = memtable.payloadOffset() + Payload.headerLength(kind);
      if (Tag.baseKind(kind) == Tag.POINTER && takes(payload, pointer, before, valueBytesMax)) {
        order.add(payload, pointer);
      }
    }
    Map<Long, Long> records = new HashMap<>();
    long bytes = 0;
    long inOrder = 0;
    long count = 0;
    for (Map.Entry<Long, RecordOrder.Count> entry : order.counts().entrySet()) {
      RecordOrder.Count segment = entry.getValue();
      records.put(entry.getKey(), segment.records());
      count += segment.records();
      bytes += segment.bytes();
      inOrder += segment.inOrder();
    }
    return new FlushPlan(
        before, valueBytesMax, records, bytes, RecordOrder.isScattered(count, inOrder));
  }

  public boolean takes(Region pointer, long pointerOffset) {
    return takes(pointer, pointerOffset, before, valueBytesMax);
  }

  private static boolean takes(Region pointer, long pointerOffset, long before, int valueBytesMax) {
    return ValuePointer.segment(pointer, pointerOffset) < before
        && ValuePointer.recordLength(pointer, pointerOffset) < RecordOrder.SCATTERED_BYTES_MAX
        && ValuePointer.valueLength(pointer, pointerOffset) <= valueBytesMax;
  }
}
