package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.nio.ByteBuffer;

/**
 * Follows pointers into the log. Every record's checksum, place and key are verified before its
 * value is handed out. Thread safe; takes no lock when the record is mapped. The caller is inside
 * the epochs.
 */
public final class ValueReader {
  /**
   * Longer compressed values are decompressed on the heap, which has no budget of ours to break.
   */
  private static final int SCRATCH_BYTES_MAX = 1 << 16;

  private final SegmentDirectory directory;

  public ValueReader(SegmentDirectory directory) {
    this.directory = directory;
  }

  /**
   * Reads the value that the pointer at {@code pointerOffset} names.
   *
   * @param key region of the key it must belong to
   * @param scratch for values that are compressed or not mapped; belongs to the reader
   */
  public void read(
      Region pointer,
      long pointerOffset,
      Region key,
      long keyOffset,
      int keyLength,
      Scratch scratch,
      StoredValue result) {
    long segmentId = ValuePointer.segment(pointer, pointerOffset);
    long offset = ValuePointer.offset(pointer, pointerOffset);
    int length = ValuePointer.recordLength(pointer, pointerOffset);
    Segment segment = directory.get(segmentId);
    if (offset < 0 || length > segment.publishedEnd() - offset) {
      throw new CorruptionException(
          segment.name(), offset, "a record of " + length + " bytes", "end of the segment");
    }
    Region region = segment.mapped(offset + length, length);
    long at = offset;
    if (region == null) {
      region = scratch.record.ensure(length);
      at = 0;
      segment.read(scratch.window.over(region, 0, length), offset);
    }
    RecordView record = result.record;
    if (!record.decode(region, at, at + length) || record.length() != length) {
      throw new CorruptionException(segment.name(), offset, "a record", "none");
    }
    long crcAt = record.crcOffset();
    int crc =
        scratch.window.crc32c(region, at, length - LogFormat.CRC_BYTES)
            ^ LogFormat.place(segmentId, offset);
    if (region.getInt(crcAt) != crc) {
      throw new CorruptionException(
          segment.name(),
          offset + length - LogFormat.CRC_BYTES,
          LogFormat.hex(crc),
          LogFormat.hex(region.getInt(crcAt)));
    }
    int order =
        Region.compare(region, record.keyOffset(), record.keyLength(), key, keyOffset, keyLength);
    if (order != 0) {
      throw new CorruptionException(segment.name(), offset, "the key's own record", "another key");
    }
    deliver(segment, region, offset, scratch, result);
  }

  private static void deliver(
      Segment segment, Region region, long fileOffset, Scratch scratch, StoredValue result) {
    RecordView record = result.record;
    if (!record.isCompressed()) {
      result.set(region, record.storedOffset(), record.storedLength());
      return;
    }
    int valueLength = record.valueLength();
    ByteBuffer stored = scratch.window.over(region, record.storedOffset(), record.storedLength());
    if (valueLength > SCRATCH_BYTES_MAX) {
      byte[] heap = new byte[valueLength];
      ValueCodec.decompress(stored, ByteBuffer.wrap(heap), segment.name(), fileOffset);
      result.set(heap);
    } else {
      Region target = scratch.value.ensure(Math.max(1, valueLength));
      ByteBuffer into = scratch.secondWindow.over(target, 0, valueLength);
      ValueCodec.decompress(stored, into, segment.name(), fileOffset);
      result.set(target, 0, valueLength);
    }
  }

  /** What one reader needs to read values; not thread safe. */
  public static final class Scratch implements AutoCloseable {
    private final GrowingRegion record;
    private final GrowingRegion value;
    private final NativeWindow window = new NativeWindow();
    private final NativeWindow secondWindow = new NativeWindow();

    public Scratch(GrowingRegion record, GrowingRegion value) {
      this.record = record;
      this.value = value;
    }

    /** Gives back what a large value made necessary. */
    public void trim() {
      if (record.capacity() > SCRATCH_BYTES_MAX) {
        record.close();
      }
    }

    @Override
    public void close() {
      record.close();
      value.close();
    }
  }
}
