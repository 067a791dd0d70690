package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Checks that a pointer leads to a valid record with the key, kind, expiry and length of its entry,
 * and that the value can be decompressed, one at a time, on the heap. Not thread safe.
 */
public final class PointerCheck implements AutoCloseable {
  private final SegmentDirectory directory;
  private final GrowingRegion scratch;
  private final NativeWindow window = new NativeWindow();
  private final RecordView record = new RecordView();
  private final RecordPlace place = new RecordPlace();

  public PointerCheck(SegmentDirectory directory, MemoryLedger ledger) {
    this.directory = directory;
    this.scratch = new GrowingRegion(ledger, MemoryPurpose.READ);
  }

  /**
   * Follows the pointer in the payload of an entry. The caller is inside an epoch.
   *
   * @return null if the record is correct, else the damage
   */
  public @Nullable CorruptionException check(
      Region payload, long payloadOffset, int kind, Region key, long keyOffset, int keyLength) {
    try {
      return follow(payload, payloadOffset, kind, key, keyOffset, keyLength);
    } catch (CorruptionException e) {
      return e;
    } catch (IncompatibleFormatException e) {
      return new CorruptionException(
          e.file(), 0, "a file of this store", String.valueOf(e.getMessage()));
    }
  }

  @Override
  public void close() {
    scratch.close();
  }

  private @Nullable CorruptionException follow(
      Region payload, long payloadOffset, int kind, Region key, long keyOffset, int keyLength) {
    long pointer = payloadOffset + Payload.headerLength(kind);
    int length = ValuePointer.recordLength(payload, pointer);
    directory.require(
        ValuePointer.segment(payload, pointer), ValuePointer.offset(payload, pointer), place);
    Segment segment = place.segment();
    long offset = place.offset();
    if (offset < LogFormat.SEGMENT_HEADER_BYTES
        || length <= LogFormat.CRC_BYTES
        || length > segment.publishedEnd() - offset) {
      return wrong("a record of " + length + " bytes", "end of the segment");
    }
    Region region = segment.mapped(offset + length, length);
    long at = offset;
    if (region == null) {
      region = scratch.ensure(length);
      at = 0;
      segment.read(window.over(region, 0, length), offset);
    } else {
      directory.cold().load(region, offset, length);
    }
    if (!record.decode(region, at, at + length) || record.length != length) {
      return wrong("a record of " + length + " bytes", "none");
    }
    int crc =
        window.crc32c(region, at, length - LogFormat.CRC_BYTES)
            ^ LogFormat.place(segment.id(), offset);
    if (region.getInt(record.crcOffset()) != crc) {
      return wrong(LogFormat.hex(crc), LogFormat.hex(region.getInt(record.crcOffset())));
    }
    if (Region.compare(region, record.keyOffset, record.keyLength, key, keyOffset, keyLength)
        != 0) {
      return wrong("the key's own record", "another key");
    }
    boolean expires = Tag.expires(kind);
    if (record.kind != (expires ? Tag.PUT | Tag.EXPIRES : Tag.PUT)
        || record.valueLength != ValuePointer.valueLength(payload, pointer)
        || (expires
            && record.expiresAtMillis(region)
                != Payload.expiresAtMillis(kind, payload, payloadOffset))) {
      return wrong("a record of the entry's kind, length and expiry", "another one");
    }
    return record.compressed ? unpack(region, segment, offset) : null;
  }

  private @Nullable CorruptionException unpack(Region region, Segment segment, long offset) {
    ByteBuffer stored = window.over(region, record.storedOffset(), record.storedLength);
    ValueCodec.decompress(
        stored, ByteBuffer.wrap(new byte[record.valueLength]), segment.name(), offset);
    return null;
  }

  private CorruptionException wrong(String expected, String found) {
    return new CorruptionException(place.segment().name(), place.offset(), expected, found);
  }
}
