package io.kvsep.internal.load;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.ForwardIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/**
 * The entries of a sorted buffer as index entries, each key once, all with the same sequence
 * number. Writes values that are not stored inline to blob files during iteration, so that they are
 * in key order. One pass only. Not thread safe.
 */
final class LoadedEntries extends ForwardIterator {
  private final LoadBuffer buffer;
  private final LoadValues values;
  private final int inlineValueBytesMax;
  private final long sequence;
  private final GrowingRegion pointer;

  /**
   * @param buffer positioned before its first entry
   */
  LoadedEntries(
      LoadBuffer buffer,
      LoadValues values,
      int inlineValueBytesMax,
      long sequence,
      MemoryLedger ledger) {
    this.buffer = buffer;
    this.values = values;
    this.inlineValueBytesMax = inlineValueBytesMax;
    this.sequence = sequence;
    this.pointer = new GrowingRegion(ledger, MemoryPurpose.BULK_LOAD);
    here.payloadPasses = true;
  }

  @Override
  public void seekToFirst() {
    next();
  }

  @Override
  public void next() {
    valid = buffer.next();
    if (valid) {
      stand();
    }
  }

  /** Does not close buffer or values. */
  @Override
  public void close() {
    pointer.close();
  }

  private void stand() {
    Region region = buffer.region();
    here.keyRegion = region;
    here.keyOffset = buffer.keyOffset();
    here.keyLength = buffer.keyLength();
    here.payloadRegion = region;
    here.payloadOffset = buffer.payloadOffset();
    here.payloadLength = buffer.payloadLength();
    int kind = buffer.kind();
    int header = Payload.headerLength(kind);
    if (Tag.baseKind(kind) == Tag.PUT && here.payloadLength - header > inlineValueBytesMax) {
      kind = Tag.POINTER | (kind & Tag.EXPIRES);
      here.payloadLength = header + writeValue(kind, header);
      here.payloadRegion = pointer.region();
      here.payloadOffset = 0;
    }
    here.tag = Tag.of(sequence, kind);
  }

  /** Writes the current value and a payload that points to it; returns the pointer's length. */
  private int writeValue(int kind, int header) {
    Region region = buffer.region();
    Region target = pointer.ensure(Payload.EXPIRY_BYTES + ValuePointer.BYTES_MAX);
    target.put(0, region, here.payloadOffset, header);
    try {
      return values.add(
          region,
          here.keyOffset,
          here.keyLength,
          Payload.expiresAtMillis(kind, region, here.payloadOffset),
          region,
          here.payloadOffset + header,
          here.payloadLength - header,
          target,
          header);
    } catch (IOException e) {
      throw new StorageException("cannot write the values of a bulk load", e);
    }
  }
}
