package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.Region;

/** Receives what an audit of a log file finds, in file order. */
public interface AuditSink {
  /** Sequence number of a record whose file does not store it. */
  long UNKNOWN_SEQUENCE = -1;

  /**
   * A valid record.
   *
   * @param region the whole file; valid during the call, like {@code record}
   * @param sequence {@link #UNKNOWN_SEQUENCE} for a record of a blob file
   */
  void record(Region region, RecordView record, long offset, long sequence);

  /**
   * A range of damaged bytes.
   *
   * @param to exclusive
   */
  void damaged(long from, long to, CorruptionException what);
}
