package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.Region;

/** Takes what a survey of a file of the log finds, front to back. */
public interface AuditSink {
  /** In place of a sequence number, where the file does not tell it. */
  long UNKNOWN_SEQUENCE = -1;

  /**
   * A sound record.
   *
   * @param region holds the file as a whole; valid during the call, like {@code record}
   * @param sequence {@link #UNKNOWN_SEQUENCE} for a relocated record
   */
  void record(Region region, RecordView record, long offset, long sequence);

  /**
   * Bytes that do not hold.
   *
   * @param to behind the last of them
   */
  void damaged(long from, long to, CorruptionException what);
}
