package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;

/** Gathers the facts of a {@link TableMeta} entry by entry. Not thread safe. */
final class MetaBuilder {
  private final SegmentTally segments = new SegmentTally();
  private byte[] smallestKey = new byte[0];
  private long smallestSequence = Long.MAX_VALUE;
  private long largestSequence;
  private long entryCount;
  private long tombstoneCount;
  private long keyBytes;
  private long expiresAtMillisMax = Long.MIN_VALUE;

  void add(int keyLength, long tag, Region payload, long payloadOffset) {
    int kind = Tag.kind(tag);
    long sequence = Tag.sequence(tag);
    entryCount++;
    keyBytes += keyLength;
    smallestSequence = Math.min(smallestSequence, sequence);
    largestSequence = Math.max(largestSequence, sequence);
    expiresAtMillisMax =
        Math.max(expiresAtMillisMax, Payload.expiresAtMillis(kind, payload, payloadOffset));
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

  long entryCount() {
    return entryCount;
  }

  TableMeta build(long number, long fileBytes, byte[] largestKey) {
    return new TableMeta(
        number,
        fileBytes,
        smallestKey,
        largestKey,
        smallestSequence,
        largestSequence,
        entryCount,
        tombstoneCount,
        keyBytes,
        expiresAtMillisMax,
        segments.uses());
  }
}
