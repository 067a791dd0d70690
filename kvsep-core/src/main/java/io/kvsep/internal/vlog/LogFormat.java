package io.kvsep.internal.vlog;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.FileKind;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * Layout of a segment file, little-endian. Specification: docs/formats/log.md.
 *
 * <pre>
 * segment  := header frame* end?
 *
 * header := 40 bytes with magic "KVSEPLOG" and the segment's id, see {@link FileHeader}
 *
 * frame header, 32 bytes
 * offset bytes field
 *      0     4 crc of bytes 4 .. 31, placed
 *      4     4 magic "KVF1"
 *      8     4 bodyLength: bytes of all records
 *     12     4 recordCount; 0 for the end
 *     16     8 firstSequence
 *     24     4 durable offset   \ log position known to be
 *     28     4 durable segment  / synced, low 32 bits each
 *
 * record
 * offset bytes field
 *      0     1 kind: DELETE, PUT or RANGE_DELETE; PUT with flags EXPIRES 0x10, LZ4 0x20
 *      1     … keyLength       varint, 1 .. 65,540
 *      …     … storedLength    varint, stored bytes of the value; absent for DELETE
 *      …     … valueLength     varint, only with LZ4: bytes of the uncompressed value
 *      …     8 expiresAtMillis only with EXPIRES
 *      …     … key             keyspace prefix and user key
 *      …     … stored value; for RANGE_DELETE the first key after the range, with its prefix
 *      …     4 crc of everything before it in the record, placed
 * </pre>
 *
 * The end is a frame header without records: the log continues in the next segment. The n-th record
 * of a frame has sequence {@code firstSequence + n}. A <em>placed</em> crc is the crc32c xored with
 * {@link #place}, a hash of segment id and file offset, to detect valid bytes at a wrong position.
 */
final class LogFormat {
  static final FileKind SEGMENT = new FileKind("KVSEPLOG", 1, 1, "a segment of the log");
  static final int FRAME_MAGIC = (int) FileKind.littleEndian("KVF1");

  static final int SEGMENT_HEADER_BYTES = FileHeader.BYTES;
  static final int FRAME_HEADER_BYTES = 32;
  static final int CRC_BYTES = 4;

  static final int FRAME_MAGIC_AT = 4;
  static final int BODY_LENGTH_AT = 8;
  static final int RECORD_COUNT_AT = 12;
  static final int FIRST_SEQUENCE_AT = 16;
  static final int DURABLE_OFFSET_AT = 24;
  static final int DURABLE_SEGMENT_AT = 28;

  /** Kind flag: the value is one LZ4 block. */
  static final int LZ4 = 0x20;

  private LogFormat() {}

  /** {@code kind} is without the LZ4 flag. */
  static boolean isRecordKind(int kind) {
    return kind == Tag.DELETE || kind == Tag.RANGE_DELETE || Tag.baseKind(kind) == Tag.PUT;
  }

  static int place(long segment, long offset) {
    long hash = (segment * 0x9e3779b97f4a7c15L ^ offset) * 0xbf58476d1ce4e5b9L;
    return (int) (hash ^ hash >>> 32);
  }

  static void putFrameHeader(
      Region region,
      int place,
      long bodyLength,
      int recordCount,
      long firstSequence,
      LogPosition durable,
      NativeWindow window) {
    region.putInt(FRAME_MAGIC_AT, FRAME_MAGIC);
    region.putInt(BODY_LENGTH_AT, Math.toIntExact(bodyLength));
    region.putInt(RECORD_COUNT_AT, recordCount);
    region.putLong(FIRST_SEQUENCE_AT, firstSequence);
    region.putInt(DURABLE_OFFSET_AT, (int) durable.offset());
    region.putInt(DURABLE_SEGMENT_AT, (int) durable.segment());
    region.putInt(0, window.crc32c(region, 4, FRAME_HEADER_BYTES - 4) ^ place);
  }

  /** {@code region} maps the segment from its start. */
  static boolean frameCrcHolds(Region region, long offset, long segment, NativeWindow window) {
    int crc = window.crc32c(region, offset + 4, FRAME_HEADER_BYTES - 4);
    return region.getInt(offset) == (crc ^ place(segment, offset));
  }

  /** {@code region} contains the first bytes of the file. */
  static void checkHeader(
      Region region, long length, String file, StoreId storeId, long segment, NativeWindow window) {
    FileHeader.read(region, length, SEGMENT, file, window).require(storeId, segment, SEGMENT, file);
  }

  static String hex(int crc) {
    return String.format("crc %08x", crc);
  }
}
