package io.kvsep.internal.vlog;

import io.kvsep.internal.io.FileKind;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * Layout of a blob file, little-endian: records copied out of old segments and their relocations,
 * or records of a bulk load, which have none. Specification: docs/formats/log.md.
 *
 * <pre>
 * file      := header record* relocation* directory-entry* footer
 *
 * header    as that of a segment, but with magic "KVSEPREL"
 * record    as in a segment, placed by this file's id and its own offset here; no frames
 *
 * relocation, 8 bytes                   directory entry, 12 bytes
 * offset bytes field                    offset bytes field
 *      0     4 old offset                    0     8 old segment id
 *      4     4 offset in this file           8     4 count of its relocations, from 1
 *
 * footer, 40 bytes
 * offset bytes field
 *      0     8 magic "KVSEPRLT"
 *      8     8 recordsEnd: offset of the first relocation
 *     16     8 relocationsEnd: offset of the first directory entry
 *     24     4 count of directory entries
 *     28     4 crc32c of bytes recordsEnd .. file length - 41, all relocations and the directory
 *     32     4 count of relocations
 *     36     4 crc32c of bytes 0 .. 35 of the footer
 * </pre>
 *
 * The directory is sorted by old segment id; relocations are in that order and by old offset,
 * without duplicates. The manifest stores the file length.
 */
final class BlobFileFormat {
  static final FileKind KIND = new FileKind("KVSEPREL", 1, 1, "a file of relocated records");
  static final long FOOTER_MAGIC = FileKind.littleEndian("KVSEPRLT");

  static final int RELOCATION_BYTES = 8;
  static final int DIRECTORY_ENTRY_BYTES = 12;
  static final int FOOTER_BYTES = 40;

  static final int RECORDS_END_AT = 8;
  static final int RELOCATIONS_END_AT = 16;
  static final int SEGMENT_COUNT_AT = 24;
  static final int TABLES_CRC_AT = 28;
  static final int RECORD_COUNT_AT = 32;
  static final int FOOTER_CRC_AT = 36;

  /** The file is mapped as a whole. */
  static final long FILE_BYTES_MAX = Integer.MAX_VALUE;

  private BlobFileFormat() {}

  static void putFooter(
      Region region,
      long recordsEnd,
      long relocationsEnd,
      int segmentCount,
      int tablesCrc,
      int relocationCount,
      NativeWindow window) {
    region.putLong(0, FOOTER_MAGIC);
    region.putLong(RECORDS_END_AT, recordsEnd);
    region.putLong(RELOCATIONS_END_AT, relocationsEnd);
    region.putInt(SEGMENT_COUNT_AT, segmentCount);
    region.putInt(TABLES_CRC_AT, tablesCrc);
    region.putInt(RECORD_COUNT_AT, relocationCount);
    region.putInt(FOOTER_CRC_AT, window.crc32c(region, 0, FOOTER_CRC_AT));
  }

  static long fileBytes(long recordsEnd, long relocations, long segments) {
    return recordsEnd
        + relocations * RELOCATION_BYTES
        + segments * DIRECTORY_ENTRY_BYTES
        + FOOTER_BYTES;
  }
}
