package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * Bytes of a segment file, little-endian. Authority: docs/formats/log.md.
 *
 * <pre>
 * segment  := header frame* end?
 *
 * header, 40 bytes                      frame header, 32 bytes
 * offset bytes field                    offset bytes field
 *      0     8 magic "KVSEPLOG"              0     4 crc of bytes 4 .. 31, placed
 *      8     4 format version                4     4 magic "KVF1"
 *     12    16 store id                      8     4 bodyLength: bytes of all records
 *     28     8 segment id                   12     4 recordCount; 0 of the end
 *     36     4 crc32c of bytes 0 .. 35      16     8 firstSequence
 *                                           24     4 durable offset \ log position known to be
 *                                           28     4 durable segment/ synced, low 32 bits each
 *
 * record
 * offset bytes field
 *      0     1 kind: DELETE, PUT or RANGE_DELETE; of PUT flags EXPIRES 0x10, LZ4 0x20
 *      1     … keyLength       varint, 1 .. 65,540
 *      …     … storedLength    varint, bytes of the value as stored; absent for DELETE
 *      …     … valueLength     varint, only with LZ4: bytes of the value as given
 *      …     8 expiresAtMillis only with EXPIRES
 *      …     … key             keyspace prefix and user key
 *      …     … stored value; of RANGE_DELETE the first key behind the range, with its prefix
 *      …     4 crc of everything before it in the record, placed
 * </pre>
 *
 * The end is the header of a frame without records: the segment is complete, and the log goes on in
 * the next one. The n-th record of a frame has sequence {@code firstSequence + n}. A
 * <em>placed</em> crc is the crc32c xored with {@link #place}, a hash of segment id and file offset
 * of the frame or record, so that bytes that are sound but stand in the wrong place do not pass.
 */
final class LogFormat {
  static final int FORMAT_VERSION = 1;
  static final long SEGMENT_MAGIC = magic("KVSEPLOG");
  static final int FRAME_MAGIC = (int) magic("KVF1");

  static final int SEGMENT_HEADER_BYTES = 40;
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

  /** Whether a record may be of this kind, LZ4 left aside. */
  static boolean isRecordKind(int kind) {
    return kind == Tag.DELETE || kind == Tag.RANGE_DELETE || Tag.baseKind(kind) == Tag.PUT;
  }

  /** What a placed crc is xored with. */
  static int place(long segment, long offset) {
    long hash = (segment * 0x9e3779b97f4a7c15L ^ offset) * 0xbf58476d1ce4e5b9L;
    return (int) (hash ^ hash >>> 32);
  }

  static void putSegmentHeader(Region region, StoreId storeId, long segment, NativeWindow window) {
    putHeader(region, SEGMENT_MAGIC, storeId, segment, window);
  }

  static void putHeader(
      Region region, long magic, StoreId storeId, long segment, NativeWindow window) {
    region.putLong(0, magic);
    region.putInt(8, FORMAT_VERSION);
    region.putLong(12, storeId.high());
    region.putLong(20, storeId.low());
    region.putLong(28, segment);
    region.putInt(36, window.crc32c(region, 0, 36));
  }

  /** Puts a frame header at the start of {@code region}. */
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

  /** Checks the header of a segment file; {@code region} holds at least its header. */
  static void checkSegmentHeader(
      Region region, String file, StoreId storeId, long segment, NativeWindow window) {
    checkHeader(region, SEGMENT_MAGIC, file, storeId, segment, window);
  }

  /** As above, for a file of the kind that has this magic. */
  static void checkHeader(
      Region region, long magic, String file, StoreId storeId, long segment, NativeWindow window) {
    try {
      requireHeader(region, magic, file, storeId, segment, window);
    } catch (CorruptionException | IncompatibleFormatException e) {
      Region.requirePagesRead();
      throw e;
    }
  }

  private static void requireHeader(
      Region region, long magic, String file, StoreId storeId, long segment, NativeWindow window) {
    long found = region.getLong(0);
    if (found != magic) {
      if (found == SEGMENT_MAGIC || found == RelocatedFormat.MAGIC) {
        // One of ours, where the manifest says that the other kind stands.
        throw new CorruptionException(file, 0, kind(magic), kind(found));
      }
      throw new IncompatibleFormatException(file, Reason.FOREIGN, "not a kvsep segment");
    }
    int crc = window.crc32c(region, 0, 36);
    if (region.getInt(36) != crc) {
      throw new CorruptionException(file, 36, hex(crc), hex(region.getInt(36)));
    }
    int version = region.getInt(8);
    if (version != FORMAT_VERSION) {
      Reason reason = version > FORMAT_VERSION ? Reason.TOO_NEW : Reason.TOO_OLD;
      throw new IncompatibleFormatException(
          file, reason, "format version " + version + ", this release reads " + FORMAT_VERSION);
    }
    if (region.getLong(12) != storeId.high() || region.getLong(20) != storeId.low()) {
      throw new IncompatibleFormatException(file, Reason.FOREIGN, "a segment of another store");
    }
    if (region.getLong(28) != segment) {
      throw new CorruptionException(
          file, 28, "segment " + segment, "segment " + region.getLong(28));
    }
  }

  private static String kind(long magic) {
    return magic == SEGMENT_MAGIC ? "a segment of the log" : "a file of relocated records";
  }

  static String hex(int crc) {
    return String.format("crc %08x", crc);
  }

  static long magic(String text) {
    long value = 0;
    for (int i = 0; i < text.length(); i++) {
      value |= (long) text.charAt(i) << (8 * i);
    }
    return value;
  }
}
