package io.kvsep;

import java.util.List;

/**
 * What a call of {@link KvStore#reclaim} did. Immutable. What reclaim did in the background during
 * the call is counted too.
 *
 * @param filesExamined files of the value log when it began
 * @param filesRewritten files whose live records were copied to a new one
 * @param filesRemoved those of the examined files that are no part of the store any more, because
 *     they were rewritten or nothing was live in them; one that an open cursor needs is still on
 *     disk until that is closed
 * @param bytesRead bytes of records that were copied; less than what lay in the files
 * @param bytesWritten bytes of the files they were copied to, with what leads to the records there
 * @param bytesFreed by how much the files of the value log that are part of the store became
 *     shorter together; what was written during the call counts against it, at least 0
 * @param seconds how long it took, with flushing and compacting
 * @param damagedFiles names of the files, of the log and tables, that could not be read since the
 *     store was opened, and are kept; empty in a sound store
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
  public ReclaimReport {
    damagedFiles = List.copyOf(damagedFiles);
  }
}
