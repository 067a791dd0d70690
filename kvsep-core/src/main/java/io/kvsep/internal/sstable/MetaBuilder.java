package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;

/** Collects a {@link TableMeta} entry by entry. Not thread safe. */
final class MetaBuilder {
  private final SegmentTally segments = new SegmentTally();
  private byte[] smallestKey = new byte[0];
  private byte[] largestKey = new byte[0];
  private long smallestSequence = Long.MAX_VALUE;
  private long largestSequence;
  private long entryCount;
  private long tombstoneCount;
  private long hiddenCount;
  private long rangeCount;
  private long keyBytes;
  private long expiringCount;
  private long expiresAtMillisMin = Long.MAX_VALUE;
  private long expiresAtMillisMax;

  /**
   * @param sameKey whether the previous entry has the same key
   */
  void add(int keyLength, boolean sameKey, long tag, Region payload, long payloadOffset) {
    int kind = Tag.kind(tag);
    long sequence = Tag.sequence(tag);
    entryCount++;
    keyBytes += keyLength;
    hiddenCount += sameKey ? 1 : 0;
    smallestSequence = Math.min(smallestSequence, sequence);
    largestSequence = Math.max(largestSequence, sequence);
    if (Tag.expires(kind)) {
      long expiry = Payload.expiresAtMillis(kind, payload, payloadOffset);
      expiringCount++;
      expiresAtMillisMin = Math.min(expiresAtMillisMin, expiry);
      expiresAtMillisMax = Math.max(expiresAtMillisMax, expiry);
    }
    if (kind == Tag.DELETE) {
      tombstoneCount++;
    } else if (Tag.baseKind(kind) == Tag.POINTER) {
      long pointer = payloadOffset + Payload.headerLength(kind);
      segments.add(
          ValuePointer.segment(payload, pointer), ValuePointer.recordLength(payload, pointer));
    }
  }

  void smallestKey(byte[] key) {
    smallestKey = key;
  }

  void largestKey(byte[] key) {
    largestKey = key;
  }

  /** Called after the keys of all entries. */
  void add(RangeTombstones ranges) {
    rangeCount = ranges.count();
    for (int i = 0; i < ranges.count(); i++) {
      byte[] first = ranges.start(i);
      smallestKey = Arrays.compareUnsigned(first, smallestKey) < 0 ? first : smallestKey;
      byte[] last = lastBefore(ranges.end(i));
      largestKey = Arrays.compareUnsigned(last, largestKey) > 0 ? last : largestKey;
      for (long sequence : ranges.sequences(i)) {
        smallestSequence = Math.min(smallestSequence, sequence);
        largestSequence = Math.max(largestSequence, sequence);
      }
    }
  }

  /**
   * The greatest key before {@code end}, which exists only if that ends in a zero byte. Otherwise
   * {@code end}: the table's key range is one key too long.
   */
  private static byte[] lastBefore(byte[] end) {
    int last = end.length - 1;
    return end[last] == 0 && last > 0 ? Arrays.copyOf(end, last) : end;
  }

  long entryCount() {
    return entryCount;
  }

  TableMeta build(long number, long fileBytes) {
    return new TableMeta(
        number,
        fileBytes,
        smallestKey,
        largestKey,
        smallestSequence,
        largestSequence,
        entryCount,
        tombstoneCount,
        hiddenCount,
        rangeCount,
        keyBytes,
        expiringCount,
        expiringCount == 0 ? 0 : expiresAtMillisMin,
        expiresAtMillisMax,
        segments.uses());
  }
}
