package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.ScratchBudget;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Reads values through pointers. Verifies checksum, position and key of each record; {@link
 * Scratch#trustValues} skips the checksum. Reads mapped records in place; in a store larger than
 * memory it loads them first, see {@link ColdReadPolicy}. Thread safe; takes no lock if the record
 * is mapped. The caller is inside an epoch.
 */
public final class ValueReader {
  /**
   * Longer compressed values are decompressed on the heap, outside the memory budget; so are those
   * beyond the shared scratch budget, the only limit of a value that is copied at once.
   */
  private static final int SCRATCH_BYTES_MAX = 1 << 16;

  /** Most scratch memory of one call: both regions, each doubled while it grows. */
  public static final long SLOT_BYTES_MAX = 4 * SCRATCH_BYTES_MAX;

  /** Bytes of a single record touched in advance. Figures: docs/decisions/06. */
  private static final int TOUCHED_BYTES_MAX = 32 << 10;

  private final SegmentDirectory directory;
  private final ColdReadPolicy cold;

  public ValueReader(SegmentDirectory directory) {
    this.directory = directory;
    this.cold = directory.cold();
  }

  /** Whether the store exceeds memory, so that read-ahead pays off. */
  public boolean isCold() {
    return cold.isCold();
  }

  /** Approximate; includes reads of tables. */
  public long deviceReads() {
    return cold.deviceReads();
  }

  public ReadBatch newBatch() {
    return new ReadBatch(directory);
  }

  public OrderedReads newOrderedReads() {
    return new OrderedReads(directory);
  }

  public RecordPrefetcher newNearRecords() {
    return new RecordPrefetcher(directory);
  }

  /**
   * Reads a value and checks it as configured.
   *
   * @param scratch of the caller, for values that are compressed or not mapped
   */
  public void read(
      Region pointer,
      long pointerOffset,
      Region key,
      long keyOffset,
      int keyLength,
      Scratch scratch,
      StoredValue result) {
    ValuePointer target = scratch.pointer;
    target.decode(pointer, pointerOffset);
    long offset = target.offset;
    int length = target.recordLength;
    boolean isLoaded = scratch.isLoaded();
    Segment segment = directory.find(target.segment);
    if (segment == null) {
      // The segment was rewritten; the offset is now that in its home.
      directory.require(target.segment, offset, isLoaded, scratch.place);
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
      // Too short to be worth a mapping, but there is no memory to read it into.
      region = segment.mapped(offset + length, Integer.MAX_VALUE);
    }
    long at = offset;
    if (region == null) {
      region = scratch.record.ensure(length);
      at = 0;
      segment.read(scratch.window.over(region, 0, length), offset);
    } else if (!isLoaded) {
      cold.load(region, offset, length);
    }
    if (scratch.isAlone() && at == offset && !(scratch.trusting && scratch.shown)) {
      region.touchApart(at, Math.min(length, TOUCHED_BYTES_MAX));
    }
    RecordView record = result.record;
    verify(segment, offset, region, at, length, scratch, record);
    int order =
        Region.compare(region, record.keyOffset, record.keyLength, key, keyOffset, keyLength);
    if (order != 0) {
      Region.requirePagesRead();
      throw new CorruptionException(segment.name(), offset, "the key's own record", "another key");
    }
    deliver(segment, region, offset, scratch, result);
  }

  private static void verify(
      Segment segment,
      long offset,
      Region region,
      long at,
      int length,
      Scratch scratch,
      RecordView record) {
    if (!record.decode(region, at, at + length) || record.length != length) {
      // Bytes of an unreadable page look damaged.
      Region.requirePagesRead();
      throw new CorruptionException(segment.name(), offset, "a record", "none");
    }
    if (scratch.trusting && !record.compressed) {
      // The user of the value would learn of an unreadable page too late.
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

  private static void deliver(
      Segment segment, Region region, long fileOffset, Scratch scratch, StoredValue result) {
    RecordView record = result.record;
    if (!record.compressed) {
      result.set(region, record.storedOffset(), record.storedLength);
      return;
    }
    int valueLength = record.valueLength;
    ByteBuffer stored = scratch.window.over(region, record.storedOffset(), record.storedLength);
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

  public enum Use {
    ARRAY,
    /** Copies it at once to its own memory and needs no array. */
    COPY,
    /** Reads it in place, perhaps only a part. */
    VIEW
  }

  /** Memory that one reader needs to read values. Not thread safe. */
  public static final class Scratch implements AutoCloseable {
    final GrowingRegion record;
    private final GrowingRegion value;
    private final ScratchBudget.@Nullable Share memory;
    final NativeWindow window = new NativeWindow();
    private final NativeWindow secondWindow = new NativeWindow();
    private final ValuePointer pointer = new ValuePointer();
    private final RecordPlace place = new RecordPlace();
    private boolean alone;
    private boolean copied;
    private boolean shown;
    private boolean trusting;
    private boolean loaded;

    /** Charges no budget. */
    public Scratch(MemoryLedger ledger) {
      this(ledger, /* memory= */ null);
    }

    /**
     * @param memory budget charged, if not null
     */
    public Scratch(MemoryLedger ledger, ScratchBudget.@Nullable Share memory) {
      this.record = new GrowingRegion(ledger, MemoryPurpose.READ);
      this.value = new GrowingRegion(ledger, MemoryPurpose.READ);
      this.memory = memory;
    }

    /** While the region grows, old and new memory exist. */
    private boolean fits(GrowingRegion part, long length) {
      return memory == null
          || length <= part.capacity()
          || memory.take(held() + part.capacityFor(length));
    }

    private long held() {
      return record.capacity() + value.capacity();
    }

    /** Announces that the next record is unrelated to the previous one. */
    public void expectAlone(Use use) {
      alone = true;
      copied = use == Use.COPY;
      shown = use == Use.VIEW;
    }

    /**
     * Skips the checksums of uncompressed values from now on. Compressed ones are verified before
     * they are decompressed.
     */
    public void trustValues() {
      trusting = true;
    }

    /** Announces that the next record was just loaded. */
    public void expectLoaded() {
      loaded = true;
    }

    private boolean isLoaded() {
      boolean is = loaded;
      loaded = false;
      return is;
    }

    private boolean isAlone() {
      boolean is = alone;
      alone = false;
      return is;
    }

    /**
     * Ends a call: frees memory for large values. Returns false if the other slots hold too much
     * for this one to keep the rest.
     */
    public boolean trim() {
      long held = held();
      if (held > SCRATCH_BYTES_MAX && record.capacity() > SCRATCH_BYTES_MAX) {
        record.close();
        held = held();
      }
      if (memory == null || memory.isWithinKept(held)) {
        return true;
      }
      boolean kept = memory.keep(held);
      if (held > memory.keptBytes()) {
        close();
      }
      memory.release();
      return kept;
    }

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
