package io.kvsep.internal.reclaim;

import io.kvsep.internal.vlog.BlobFileWriter;

/**
 * A completed value-log file to whose records only tables can point.
 *
 * @param id its number
 * @param bytes its length
 * @param neededBytes bytes of its live records in a new file, including their index
 * @param records number of live records
 */
record LogFile(long id, long bytes, long neededBytes, long records) {
  /** Estimates the rewritten size of a file, so that a file just rewritten has no garbage. */
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
