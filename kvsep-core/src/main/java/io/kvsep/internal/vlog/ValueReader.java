package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.ScratchBudget;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Follows pointers into the log. Every record's checksum, place and key are verified before its
 * value is handed out, the checksum unless the reader {@linkplain Scratch#trustValues does not want
 * it}. Records are read where they are mapped; in a store that does not fit into memory they are
 * loaded there first, see {@link ColdReadPolicy}. Thread safe; takes no lock when the record is
 * mapped. The caller is inside the epochs.
 */
public final class ValueReader {
  /**
   * Longer compressed values are decompressed on the heap, which has no budget of ours to break;
   * and so are those for which there is no room beside what other readers hold. One that is copied
   * at once has no use for an array, and goes by the room alone.
   */
  private static final int SCRATCH_BYTES_MAX = 1 << 16;

  /** The most that one call may need: both kinds, and as much again while they grow. */
  public static final long SLOT_BYTES_MAX = 4 * SCRATCH_BYTES_MAX;

  /**
   * Of a record that is looked up by itself, so much is touched at once before it is read: its
   * lines then come together, where checking it waits for the first ones by themselves. Figures:
   * docs/decisions/06.
   */
  private static final int TOUCHED_BYTES_MAX = 32 << 10;

  private final SegmentDirectory directory;
  private final ColdReadPolicy cold;

  public ValueReader(SegmentDirectory directory) {
    this.directory = directory;
    this.cold = directory.cold();
  }

  /** Whether the store does not fit into memory, so that reading ahead pays. */
  public boolean isCold() {
    return cold.isCold();
  }

  /** Reads from the device so far, of tables too; may miss some. */
  public long deviceReads() {
    return cold.deviceReads();
  }

  /** An empty batch of records to bring into memory. */
  public ReadBatch newBatch() {
    return new ReadBatch(this);
  }

  /** An empty list of records to touch. */
  public RecordPrefetcher newNearRecords() {
    return new RecordPrefetcher(directory);
  }

  /** Finds the record a pointer names, which may be damaged; see {@link SegmentDirectory}. */
  boolean locate(long segmentId, long offset, RecordPlace result) {
    return directory.locate(segmentId, offset, result);
  }

  /** Whether a segment found earlier is there, and will be while the caller is in the epochs. */
  @SuppressWarnings("ReferenceEquality") // A file may be listed anew.
  boolean isListed(Segment segment) {
    return directory.find(segment.id()) == segment;
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
    Segment segment = directory.find(segmentId);
    if (segment == null) {
      // The segment was rewritten: from here on, the offset is that in its present home.
      directory.require(segmentId, offset, scratch.place);
      segment = scratch.place.segment();
      offset = scratch.place.offset();
    }
    if (offset < 0 || length > segment.publishedEnd() - offset) {
      Region.requirePagesRead();
      throw new CorruptionException(
          segment.name(), offset, "a record of " + length + " bytes", "end of the segment");
    }
    Region region = segment.mapped(offset + length, length);
    if (region == null && !scratch.fits(scratch.record, length)) {
      // The end of the log is not worth a mapping yet, but there is no memory to read it into.
      region = segment.mapped(offset + length, Integer.MAX_VALUE);
    }
    long at = offset;
    if (region == null) {
      region = scratch.record.ensure(length);
      at = 0;
      segment.read(scratch.window.over(region, 0, length), offset);
    } else {
      cold.load(region, offset, length);
    }
    if (scratch.isAlone() && at == offset && !(scratch.trusting && scratch.shown)) {
      region.touchApart(at, Math.min(length, TOUCHED_BYTES_MAX));
    }
    RecordView record = result.record;
    verify(segment, offset, region, at, length, scratch, record);
    int order =
        Region.compare(region, record.keyOffset(), record.keyLength(), key, keyOffset, keyLength);
    if (order != 0) {
      Region.requirePagesRead();
      throw new CorruptionException(segment.name(), offset, "the key's own record", "another key");
    }
    deliver(segment, region, offset, scratch, result);
  }

  /** Decodes the record and checks that it is sound and in its place, or only that it is one. */
  private static void verify(
      Segment segment,
      long offset,
      Region region,
      long at,
      int length,
      Scratch scratch,
      RecordView record) {
    if (!record.decode(region, at, at + length) || record.length() != length) {
      // Bytes of a page that was not read look damaged.
      Region.requirePagesRead();
      throw new CorruptionException(segment.name(), offset, "a record", "none");
    }
    if (scratch.trusting && !record.isCompressed()) {
      // Whoever looks at the value would not hear in time of a page that is not there.
      scratch.window.requireReadable(region, at, length);
      return;
    }
    long crcAt = record.crcOffset();
    int crc =
        scratch.window.crc32c(region, at, length - LogFormat.CRC_BYTES)
            ^ LogFormat.place(segment.id(), offset);
    if (region.getInt(crcAt) != crc) {
      Region.requirePagesRead();
      throw new CorruptionException(
          segment.name(), offset, LogFormat.hex(crc), LogFormat.hex(region.getInt(crcAt)));
    }
  }

  /**
   * Brings a range of a sealed segment into memory.
   *
   * @return whether it had to come from the device
   */
  boolean load(Segment segment, long offset, int length) {
    Region region = segment.mapped(offset + length, length);
    return region != null && cold.load(region, offset, length);
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
    boolean isLong = valueLength > SCRATCH_BYTES_MAX && !scratch.copied;
    if (isLong || !scratch.fits(scratch.value, valueLength)) {
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

  /** What becomes of a value that is looked up by itself. */
  public enum Use {
    /** It is wanted as an array. */
    ARRAY,
    /** It is copied into memory of the caller's at once, and nobody wants an array of it. */
    COPY,
    /** It is looked at where it lies, perhaps at a part of it. */
    VIEW
  }

  /** What one reader needs to read values; not thread safe. */
  public static final class Scratch implements AutoCloseable {
    final GrowingRegion record;
    private final GrowingRegion value;
    private final ScratchBudget.@Nullable Share memory;
    final NativeWindow window = new NativeWindow();
    private final NativeWindow secondWindow = new NativeWindow();
    private final RecordPlace place = new RecordPlace();
    private boolean alone;
    private boolean copied;
    private boolean shown;
    private boolean trusting;

    /** Counts against {@code memory}, unless that is null. */
    public Scratch(
        GrowingRegion record, GrowingRegion value, ScratchBudget.@Nullable Share memory) {
      this.record = record;
      this.value = value;
      this.memory = memory;
    }

    /** Whether one of the two may be so long; while it grows, what it was is there as well. */
    private boolean fits(GrowingRegion part, long length) {
      return memory == null
          || length <= part.capacity()
          || memory.take(held() + part.capacityFor(length));
    }

    private long held() {
      return record.capacity() + value.capacity();
    }

    /** The next record to be read has nothing to do with the one before it. */
    public void expectAlone(Use use) {
      alone = true;
      copied = use == Use.COPY;
      shown = use == Use.VIEW;
    }

    /**
     * From now on no checksum is verified of values that are kept as they were given. Those that
     * are compressed are verified all the same: nobody may decompress just any bytes.
     */
    public void trustValues() {
      trusting = true;
    }

    private boolean isAlone() {
      boolean is = alone;
      alone = false;
      return is;
    }

    /**
     * Ends a call: gives back what a large value made necessary. False when other slots keep too
     * much for this one to keep the rest.
     */
    public boolean trim() {
      if (record.capacity() > SCRATCH_BYTES_MAX) {
        record.close();
      }
      return memory == null || memory.isWithinKept(held()) || settle(memory);
    }

    private boolean settle(ScratchBudget.Share share) {
      boolean kept = share.keep(held());
      if (held() > share.keptBytes()) {
        close();
      }
      share.release();
      return kept;
    }

    /** Gives back what was kept for the next call. */
    public void giveBack() {
      close();
      if (memory != null) {
        memory.giveBack();
      }
    }

    @Override
    public void close() {
      record.close();
      value.close();
    }
  }
}
