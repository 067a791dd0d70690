package io.kvsep.internal.version;

import io.kvsep.internal.io.FileKind;

/**
 * Bytes of CURRENT and of a manifest, little-endian. Authority: docs/formats/manifest.md.
 *
 * <pre>
 * CURRENT  := header                       the number is that of the current manifest
 * manifest := header record record* mark?  the first record is a snapshot of the whole state
 *
 * header := 40 bytes with magic "KVSEPCUR" or "KVSEPMAN" and the number of a manifest, see {@link
 *           io.kvsep.internal.io.FileHeader}
 *
 * record
 * offset bytes field
 *      0     4 length of the edit, from 1
 *      4     4 crc32c of the edit, placed
 *      8     … edit
 *
 * mark := a record header with length 0     all edits before it were synced
 *
 * edit := (tag fields)+                    varints; a key is its length and bytes
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
 *  8 sealSegment      id length             the last sequence number is unknown
 *  9 removeSegment    id
 * 10 addKeyspace      id length name        name in UTF-8
 * 11 dropKeyspace     id
 * 12 nextKeyspace     id                    ids of keyspaces below are taken
 * 13 addRelocated     id length             a blob file
 * 14 relocateSegment  segment file          that file holds its records
 * 15 droppedDelete    sequence              compaction dropped a delete with this number
 * 16 restored         source since until sequence    the last restored backup; source is four u32
 * 17 sealLog          id length sequence    as sealSegment; no record exceeds sequence
 * 18 lostChange       sequence              changes up to it are not all in the log
 * 19 addHiding        as addTable, with hiddenCount before useCount; in 5 it is 0
 * 20 syncedLog        segment offset       the log before it is durable
 * </pre>
 *
 * A <em>placed</em> crc is xored with {@link #place}, a hash of the manifest number and the file
 * offset of the record, so that a sound record in the wrong place is rejected. Tags are never
 * reused; 0 is not a tag.
 */
final class ManifestFormat {
  static final FileKind MANIFEST = new FileKind("KVSEPMAN", 1, 1, "a manifest");
  static final FileKind CURRENT = new FileKind("KVSEPCUR", 1, 1, "a CURRENT");

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
  static final int SYNCED_LOG = 20;

  /** Higher tags belong to a later version. */
  static final int LAST_TAG = SYNCED_LOG;

  private ManifestFormat() {}

  static int place(long manifest, long offset) {
    long hash = (manifest * 0x9e3779b97f4a7c15L ^ offset) * 0xbf58476d1ce4e5b9L;
    return (int) (hash ^ hash >>> 32);
  }
}
