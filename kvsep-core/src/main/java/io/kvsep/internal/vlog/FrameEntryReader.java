package io.kvsep.internal.vlog;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Entry;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Turns the records of a frame into entries for a memtable: short values inline, others as
 * pointers. Serves commits and recovery alike, so both build the same index from the same bytes.
 * Not thread safe.
 */
public final class FrameEntryReader implements AutoCloseable {
  private final int inlineValueBytesMax;
  private final GrowingRegion pointer;
  private final RecordView record = new RecordView();
  private final Entry entry = new Entry();

  private Region region;
  private long at;
  private long limit;
  private long sequence;
  private long segment;
  private long fileOffset;

  public FrameEntryReader(MemoryLedger ledger, int inlineValueBytesMax) {
    this.inlineValueBytesMax = inlineValueBytesMax;
    this.pointer = new GrowingRegion(ledger, MemoryPurpose.COMMIT);
    this.region = pointer.ensure(ValuePointer.BYTES_MAX);
  }

  /** Starts on a frame that was just appended; its records are read where they lie in memory. */
  public void over(Frame frame, SegmentDirectory directory) {
    long frameOffset = frame.offset();
    long segmentId = frame.segment();
    if (frame.isStreamed()) {
      Segment from = directory.get(segmentId);
      long frameEnd = frameOffset + frame.length();
      // Nobody maps the segment again, and so retires this mapping, before more is published, which
      // only the calling thread does.
      Region mapped = from.mapped(frameEnd, Integer.MAX_VALUE);
      if (mapped == null) {
        throw new IllegalStateException("a published frame can always be mapped");
      }
      start(mapped, frameOffset, frame.length(), segmentId, frameOffset, frame.firstSequence());
    } else {
      start(frame.region(), 0, frame.length(), segmentId, frameOffset, frame.firstSequence());
    }
  }

  /** Starts on a frame of {@code length} bytes at {@code start} of {@code source}. */
  void start(
      Region source, long start, long length, long segmentId, long offset, long firstSequence) {
    region = source;
    at = start + LogFormat.FRAME_HEADER_BYTES;
    limit = start + length;
    segment = segmentId;
    fileOffset = offset - start;
    sequence = firstSequence;
  }

  /** The next entry, whose parts are valid until the following call; null at the frame's end. */
  public @Nullable Entry next() {
    if (at >= limit) {
      return null;
    }
    if (!record.decode(region, at, limit)) {
      throw new IllegalStateException("a verified frame does not hold");
    }
    entry.keyRegion = region;
    entry.keyOffset = record.keyOffset();
    entry.keyLength = record.keyLength();
    int kind = record.kind();
    entry.expiresAtMillis = Tag.expires(kind) ? record.expiresAtMillis(region) : 0;
    if (Tag.baseKind(kind) == Tag.DELETE) {
      entry.valueLength = 0;
    } else if (kind == Tag.RANGE_DELETE
        || (record.valueLength() <= inlineValueBytesMax && !record.isCompressed())) {
      entry.valueRegion = region;
      entry.valueOffset = record.storedOffset();
      entry.valueLength = record.storedLength();
    } else {
      kind = Tag.POINTER | (kind & Tag.EXPIRES);
      Region target = pointer.region();
      entry.valueRegion = target;
      entry.valueOffset = 0;
      entry.valueLength =
          (int)
              ValuePointer.put(
                  target, 0, segment, fileOffset + at, record.length(), record.valueLength());
    }
    entry.tag = Tag.of(sequence++, kind);
    at += record.length();
    return entry;
  }

  @Override
  public void close() {
    pointer.close();
  }
}
