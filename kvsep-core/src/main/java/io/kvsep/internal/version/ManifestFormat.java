package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * Bytes of CURRENT and of a manifest, little-endian. Authority: docs/formats/manifest.md.
 *
 * <pre>
 * CURRENT  := header                       the number is that of the manifest in force
 * manifest := header record record* mark?  the first record makes the whole state from nothing
 *
 * header, 40 bytes                         record
 * offset bytes field                       offset bytes field
 *      0     8 magic                            0     4 length of the edit, from 1
 *      8     4 format version                   4     4 crc32c of the edit, placed
 *     12    16 store id                         8     … edit
 *     28     8 manifest number
 *     36     4 crc32c of bytes 0 .. 35
 *
 * mark := a record header with length 0     all edits in front of it were synced
 *
 * edit := (tag fields)+                    all varints, except that a key is its length and bytes
 *  1 nextFileNumber   number               numbers of tables and manifests below are taken
 *  2 nextSegmentId    id                   ids of segments below are taken
 *  3 lastSequence     sequence
 *  4 replayFrom       segment offset
 *  5 addTable         level number fileBytes smallestKey largestKey
 *                     smallestSequence largestSequence entryCount tombstoneCount rangeCount
 *                     keyBytes expiringCount expiresAtMillisMin expiresAtMillisMax
 *                     useCount (segment liveBytes records)*
 *  6 removeTable      level number
 *  7 addSegment       id
 *  8 sealSegment      id length             of which nobody knows the last sequence number
 *  9 removeSegment    id
 * 10 addKeyspace      id length name        name in UTF-8
 * 11 dropKeyspace     id
 * 12 nextKeyspace     id                    ids of keyspaces below are taken
 * 13 addRelocated     id length             a segment file that reclaim wrote
 * 14 relocateSegment  segment file          its records are found in that file
 * 15 droppedDelete    sequence              compaction has dropped a delete with this number
 * 16 restored         source since until sequence    the backup restored last; source is four u32
 * 17 sealLog          id length sequence    as sealSegment, with a number that no record exceeds
 * 18 lostChange       sequence              changes up to it are not all in the log
 * 19 addHiding        as addTable, with hiddenCount in front of useCount; in 5 it is 0
 * </pre>
 *
 * A <em>placed</em> crc is xored with {@link #place}, a hash of manifest number and file offset of
 * the record, so that bytes that are sound but stand in the wrong place do not pass. Tags are never
 * reused; zero is none.
 */
final class ManifestFormat {
  static final int FORMAT_VERSION = 1;
  static final long MANIFEST_MAGIC = magic("KVSEPMAN");
  static final long CURRENT_MAGIC = magic("KVSEPCUR");

  static final int HEADER_BYTES = 40;
  static final int RECORD_HEADER_BYTES = 8;
  static final int CRC_AT = 4;

  static final int NEXT_FILE_NUMBER = 1;
  static final int NEXT_SEGMENT_ID = 2;
  static final int LAST_SEQUENCE = 3;
  static final int REPLAY_FROM = 4;
  static final int ADD_TABLE = 5;
  static final int REMOVE_TABLE = 6;
  static final int ADD_SEGMENT = 7;
  static final int SEAL_SEGMENT = 8;
  static final int REMOVE_SEGMENT = 9;
  static final int ADD_KEYSPACE = 10;
  static final int DROP_KEYSPACE = 11;
  static final int NEXT_KEYSPACE = 12;
  static final int ADD_RELOCATED = 13;
  static final int RELOCATE_SEGMENT = 14;
  static final int DROPPED_DELETE = 15;
  static final int RESTORED = 16;
  static final int SEAL_LOG = 17;
  static final int LOST_CHANGE = 18;
  static final int ADD_HIDING = 19;

  /** What is beyond is of a later version. */
  static final int LAST_TAG = ADD_HIDING;

  private static final int VERSION_AT = 8;
  private static final int STORE_ID_AT = 12;
  private static final int NUMBER_AT = 28;
  private static final int HEADER_CRC_AT = 36;

  private ManifestFormat() {}

  /** What a header says beyond its magic and version. */
  record Header(StoreId storeId, long number) {}

  /** What the crc of a record is xored with. */
  static int place(long manifest, long offset) {
    long hash = (manifest * 0x9e3779b97f4a7c15L ^ offset) * 0xbf58476d1ce4e5b9L;
    return (int) (hash ^ hash >>> 32);
  }

  static void putHeader(Region region, long magic, Header header, NativeWindow window) {
    region.putLong(0, magic);
    region.putInt(VERSION_AT, FORMAT_VERSION);
    region.putLong(STORE_ID_AT, header.storeId().high());
    region.putLong(STORE_ID_AT + 8, header.storeId().low());
    region.putLong(NUMBER_AT, header.number());
    region.putInt(HEADER_CRC_AT, window.crc32c(region, 0, HEADER_CRC_AT));
  }

  /**
   * Reads the header at the start of {@code region}, of which {@code length} bytes are the file.
   * Whether store id and number are the expected ones is for the caller to say.
   */
  static Header header(Region region, long length, long magic, String file, NativeWindow window) {
    // The magic comes first, so that a shorter file of another program is told from a cut one.
    if (length >= 8 && region.getLong(0) != magic) {
      throw new IncompatibleFormatException(file, Reason.FOREIGN, "not a file of kvsep's");
    }
    if (length < HEADER_BYTES) {
      throw new CorruptionException(file, length, "a header of 40 bytes", "the end of the file");
    }
    int version = region.getInt(VERSION_AT);
    if (version != FORMAT_VERSION) {
      boolean newer = Integer.compareUnsigned(version, FORMAT_VERSION) > 0;
      throw new IncompatibleFormatException(
          file,
          newer ? Reason.TOO_NEW : Reason.TOO_OLD,
          "format version " + version + ", this release reads " + FORMAT_VERSION);
    }
    int crc = window.crc32c(region, 0, HEADER_CRC_AT);
    int stored = region.getInt(HEADER_CRC_AT);
    if (stored != crc) {
      throw new CorruptionException(file, HEADER_CRC_AT, hex(crc), hex(stored));
    }
    StoreId storeId = new StoreId(region.getLong(STORE_ID_AT), region.getLong(STORE_ID_AT + 8));
    return new Header(storeId, region.getLong(NUMBER_AT));
  }

  static String hex(int crc) {
    return String.format("crc %08x", crc);
  }

  private static long magic(String text) {
    long value = 0;
    for (int i = 0; i < text.length(); i++) {
      value |= (long) text.charAt(i) << (8 * i);
    }
    return value;
  }
}
