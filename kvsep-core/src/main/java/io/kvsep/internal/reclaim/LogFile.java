package io.kvsep.internal.reclaim;

import io.kvsep.internal.vlog.BlobFileWriter;

/**
 * A finished file of the value log, of which nothing but tables can point to the records.
 *
 * @param id its number
 * @param bytes its length
 * @param neededBytes what its live records take in a new file, with their relocations
 * @param records live records
 */
record LogFile(long id, long bytes, long neededBytes, long records) {
  /** Says what a file would be left with; one that was just rewritten has no garbage then. */
  static LogFile of(long id, long bytes, long liveBytes, long records, long segments) {
    return new LogFile(id, bytes, BlobFileWriter.fileBytes(liveBytes, records, segments), records);
  }

  /** Bytes that rewriting the file gives back. */
  long garbageBytes() {
    return Math.max(0, bytes - neededBytes);
  }

  /** Part of the file that is garbage. */
  double garbageShare() {
    return bytes == 0 ? 0 : garbageBytes() / (double) bytes;
  }
}
