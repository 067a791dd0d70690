package io.kvsep;

import java.util.List;

/**
 * What a call of {@link KvStore#reclaim} did, including background reclaim during the call.
 * Immutable.
 *
 * @param filesExamined files of the value log at the start
 * @param filesRewritten files whose live records were copied to a new one
 * @param filesRemoved examined files that are no longer part of the store, because they were
 *     rewritten or had no live data. A file that an open cursor needs stays on disk until the
 *     cursor is closed
 * @param bytesRead bytes of the copied records; less than the length of the files
 * @param bytesWritten bytes of the new files, including their indexes
 * @param bytesFreed decrease of the total length of the value-log files in the store, at least 0;
 *     writes during the call count against it
 * @param seconds duration, including flush and compaction
 * @param damagedFiles names of log files and tables that could not be read since the store was
 *     opened and are kept; empty in a sound store
 */
public record ReclaimReport(
    long filesExamined,
    long filesRewritten,
    long filesRemoved,
    long bytesRead,
    long bytesWritten,
    long bytesFreed,
    double seconds,
    List<String> damagedFiles) {
  /** Copies the list. */
  public ReclaimReport {
    damagedFiles = List.copyOf(damagedFiles);
  }
}
