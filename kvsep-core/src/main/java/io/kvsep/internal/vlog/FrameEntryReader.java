package io.kvsep.internal.vlog;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Converts a frame's records to memtable entries: short values inline, others as pointers. Commits
 * and recovery share it, and so build the same index. Decodes records, unless the frame is still in
 * memory and knows their fields. Not thread safe.
 */
public final class FrameEntryReader implements AutoCloseable {
  private int inlineValueBytesMax;
  private final Region pointer;
  private final RecordView record = new RecordView();
  private final Entry entry = new Entry();

  private Region region;
  private long at;
  private long limit;
  private long sequence;
  private long segment;
  private long frameOffset;

  /** File offset of the region's start. */
  private long fileOffset;

  /** The frame, if it is in memory. */
  private @Nullable Frame encoded;

  private int index;

  public FrameEntryReader(MemoryLedger ledger, int inlineValueBytesMax) {
    this.inlineValueBytesMax = inlineValueBytesMax;
    this.pointer = ledger.allocateUncleared(MemoryPurpose.COMMIT, ValuePointer.BYTES_MAX);
    this.region = pointer;
  }

  /** For entries from now on. */
  public void setInlineValueBytesMax(int bytes) {
    inlineValueBytesMax = bytes;
  }

  /**
   * Reads the frame at {@code start} of {@code source}, which is at {@code offset} of the file.
   *
   * @param inMemory the frame if {@code source} is its memory
   */
  void start(
      @Nullable Frame inMemory,
      Region source,
      long start,
      long length,
      long segmentId,
      long offset,
      long firstSequence) {
    region = source;
    at = start + LogFormat.FRAME_HEADER_BYTES;
    limit = start + length;
    segment = segmentId;
    frameOffset = offset;
    fileOffset = offset - start;
    sequence = firstSequence;
    encoded = inMemory;
    index = 0;
  }

  public LogPosition frameStart() {
    return new LogPosition(segment, frameOffset);
  }

  /** Returns the next entry, valid until the next call, or null. */
  public @Nullable Entry next() {
    if (at >= limit) {
      return null;
    }
    if (encoded != null) {
      encoded.read(index++, (int) at, record);
    } else if (!record.decode(region, at, limit)) {
      throw new IllegalStateException("a verified frame does not hold");
    }
    entry.keyRegion = region;
    entry.keyOffset = record.keyOffset;
    entry.keyLength = record.keyLength;
    int kind = record.kind;
    entry.expiresAtMillis = Tag.expires(kind) ? record.expiresAtMillis(region) : 0;
    if (kind == Tag.DELETE) {
      entry.valueLength = 0;
    } else if (kind == Tag.RANGE_DELETE
        || (record.valueLength <= inlineValueBytesMax && !record.compressed)) {
      entry.valueRegion = region;
      entry.valueOffset = record.storedOffset();
      entry.valueLength = record.storedLength;
    } else {
      kind = Tag.POINTER | (kind & Tag.EXPIRES);
      entry.valueRegion = pointer;
      entry.valueOffset = 0;
      entry.valueLength =
          (int)
              ValuePointer.put(
                  pointer, 0, segment, fileOffset + at, record.length, record.valueLength);
    }
    entry.tag = Tag.of(sequence++, kind);
    at += record.length;
    return entry;
  }

  @Override
  public void close() {
    pointer.free();
  }
}
