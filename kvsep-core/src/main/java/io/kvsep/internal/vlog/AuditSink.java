package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.Region;

/** Receives what an audit of a log file finds, in file order. */
public interface AuditSink {
  /** Sequence number of a record of a blob file, which stores none. */
  long UNKNOWN_SEQUENCE = -1;

  /**
   * Receives a sound record.
   *
   * @param region the whole file; valid during the call, like {@code record}
   */
  void record(Region region, RecordView record, long offset, long sequence);

  /** A range of damaged bytes; {@code to} is exclusive. */
  void damaged(long from, long to, CorruptionException what);
}
