package io.kvsep.internal.reclaim;

/**
 * A finished file of the value log, of which nothing but tables can point to the records.
 *
 * @param id its number
 * @param bytes its length
 * @param neededBytes what its live records take in a new file, with their relocations; 0 when none
 *     is left
 * @param records live records
 */
record LogFile(long id, long bytes, long neededBytes, long records) {
  /** Bytes of the entry that leads to a record in its new place. */
  private static final int RELOCATION_BYTES = 8;

  static LogFile of(long id, long bytes, long liveBytes, long records) {
    return new LogFile(id, bytes, liveBytes + records * RELOCATION_BYTES, records);
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
