package io.kvsep.internal.reclaim;

import io.kvsep.internal.vlog.BlobFileWriter;

/**
 * What reclaim knows of a value-log file that is complete and that no memtable references.
 *
 * @param bytes its length
 * @param neededBytes bytes of its live records in a new file, including their index
 * @param records live records
 */
record LogFile(long id, long bytes, long neededBytes, long records) {
  /** Counts the new file's index as needed, so that a file just rewritten has no garbage. */
  static LogFile of(long id, long bytes, long liveBytes, long records, long segments) {
    return new LogFile(id, bytes, BlobFileWriter.fileBytes(liveBytes, records, segments), records);
  }

  long garbageBytes() {
    return Math.max(0, bytes - neededBytes);
  }

  double garbageShare() {
    return bytes == 0 ? 0 : garbageBytes() / (double) bytes;
  }
}
