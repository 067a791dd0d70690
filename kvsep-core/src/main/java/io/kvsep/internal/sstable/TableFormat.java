package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.FileKind;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * The layout of a table file. Little-endian, except that index prefixes are key bytes read as a
 * big-endian number and stored as a little-endian u64. Authority: docs/formats/table.md.
 *
 * <pre>
 * file := header block+ filter index properties footer      (no gaps)
 *
 * header := 40 bytes with magic "kvsepsst" and the table's number, see {@link FileHeader}
 *
 * block := entry+ restart+ restartCount:u32 checksum:u32, or as in {@link PackedBlock}
 * restart := u32                offset of an entry with sharedLength 0, from the start of the block
 * entry := sharedLength:varint unsharedLength:varint tailLength:varint suffix tail
 * tail := kind:u8 sequence:varint payload                   (tailLength bytes)
 *
 * filter := zeros to a multiple of 64 in the file, bloomBlock+ bloomBlockCount:u32 probes:u32
 * bloomBlock := 64 bytes
 *
 * index := zeros to a multiple of 128 in the file, record for each block and one more for the ends,
 *          prefix:u64 of the last record of each complete group of 32, common prefix, separator+,
 *          blockCount:u32 commonLength:u32
 * record := prefix:u64 separatorOffset:u32 blockOffset:u32
 * separator := tag:varint rest of the key after the common prefix
 *
 * properties
 * offset  bytes  field
 *      0      8  entryCount
 *      8      8  tombstoneCount
 *     16      8  keyBytes
 *     24      8  smallestSequence
 *     32      8  largestSequence
 *     40      8  expiringCount
 *     48      8  expiresAtMillisMin
 *     56      8  expiresAtMillisMax
 *     64      4  smallestKeyLength
 *     68      4  largestKeyLength
 *     72      4  segmentCount
 *     76      4  rangeCount
 *     80      …  smallest key, largest key, then for each segment, ascending:
 *                segment:varint liveBytes:varint records:varint, then for each deleted range,
 *                ascending and disjoint: startLength:varint start endLength:varint end
 *                sequenceCount:varint (sequence:varint){sequenceCount}, newest first; then
 *                hiddenCount:varint, unless it is 0; a 0 in a table of a bulk load
 *
 * footer, 52 bytes
 * offset  bytes  field
 *      0     12  filter         offset:u32 length:u32 checksum:u32
 *     12     12  index          likewise
 *     24     12  properties     likewise
 *     36      4  formatVersion
 *     40      8  magic
 *     48      4  checksum       of bytes 0 .. 47
 * </pre>
 *
 * <p>A checksum is the crc32c of the preceding bytes of the block, of the section, or of the
 * footer, mixed with store id, table number and file offset, so that sound bytes in the wrong place
 * fail.
 */
final class TableFormat {
  static final FileKind KIND = new FileKind("kvsepsst", 1, 1, "a table");
  static final long MAGIC = KIND.magicNumber();

  static final int HEADER_BYTES = FileHeader.BYTES;
  static final int FOOTER_BYTES = 52;
  static final int FOOTER_FILTER = 0;
  static final int FOOTER_INDEX = 12;
  static final int FOOTER_PROPERTIES = 24;

  /** Restart count and checksum. */
  static final int BLOCK_TRAILER_BYTES = 8;

  static final int RESTART_BYTES = 4;

  /** Offsets are u32, and a table is one mapping. */
  static final long FILE_BYTES_MAX = Integer.MAX_VALUE;

  static final int FILTER_ALIGNMENT = 64;

  /** A group of records then fills pairs of cache lines, which processors fetch together. */
  static final int INDEX_ALIGNMENT = 128;

  static final int INDEX_RECORD_BYTES = 16;

  /** Records that a search scans. */
  static final int INDEX_GROUP = 32;

  private static final long GOLDEN = 0x9e3779b97f4a7c15L;

  private TableFormat() {}

  /** Mixed into every checksum of the table. */
  static long checksumSeed(StoreId storeId, long number) {
    return mix(storeId.high() ^ mix(storeId.low() ^ mix(number + GOLDEN)));
  }

  /** For bytes that start at {@code fileOffset}. */
  static int checksum(int crc, long seed, long fileOffset) {
    return crc ^ (int) (mix(seed + fileOffset * GOLDEN) >>> 32);
  }

  /** Zero bytes that pad {@code offset} to a multiple of {@code alignment}. */
  static int padding(long offset, int alignment) {
    return (int) (-offset & alignment - 1);
  }

  static void putSection(Region footer, int at, long offset, long length, int checksum) {
    footer.putInt(at, (int) offset);
    footer.putInt(at + 4, (int) length);
    footer.putInt(at + 8, checksum);
  }

  /** Completes a footer that has its sections. */
  static void sealFooter(Region footer, long seed, long fileOffset, NativeWindow window) {
    footer.putInt(36, KIND.version());
    footer.putLong(40, MAGIC);
    footer.putInt(48, checksum(window.crc32c(footer, 0, 48), seed, fileOffset));
  }

  static CorruptionException checksumMismatch(String file, long offset, int expected, int found) {
    // The stored checksum is unverified and may be in an unreadable page.
    Region.requirePagesRead();
    return new CorruptionException(
        file,
        offset,
        "checksum " + Integer.toHexString(expected),
        "checksum " + Integer.toHexString(found));
  }

  /** The finalizer of SplitMix64: every input bit affects every output bit. */
  private static long mix(long value) {
    long z = (value ^ value >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }
}
