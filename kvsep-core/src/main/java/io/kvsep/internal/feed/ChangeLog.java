package io.kvsep.internal.feed;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.write.LogTail;
import io.kvsep.internal.write.StoreWrites;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

/** Opens readers of the changes in the log. Thread safe. */
public final class ChangeLog {
  private final StoreWrites writes;
  private final LogTail logTail;
  private final FailureState failure;
  private final ChangeReader.Source source;

  /** Open readers; weak, so that an unreachable one need not be closed. */
  @GuardedBy("itself")
  private final Set<ChangeReader> readers = Collections.newSetFromMap(new WeakHashMap<>());

  public ChangeLog(
      StoreWrites writes, LogTail logTail, FailureState failure, ChangeReader.Source source) {
    this.writes = writes;
    this.logTail = logTail;
    this.failure = failure;
    this.source = source;
  }

  /**
   * Opens a reader of the changes after a sequence number.
   *
   * @throws IllegalArgumentException if the store has not reached it
   * @throws io.kvsep.error.ReadOnlyStoreException if the store is read-only
   */
  public ChangeReader open(long after) {
    return writes.maintain("cannot open a change feed", () -> newReader(after));
  }

  private ChangeReader newReader(long after) {
    long last = source.snapshots().visibleSequence();
    if (after < 0 || after > last) {
      throw new IllegalArgumentException(
          "no change of this store has number " + after + ", it is at " + last);
    }
    failure.check();
    // After a power failure a lost sequence number would be reused for another change.
    logTail.sync();
    ChangeReader reader = new ChangeReader(source, after);
    synchronized (readers) {
      readers.add(reader);
    }
    return reader;
  }

  /** The oldest segment of an open reader; {@link Long#MAX_VALUE} without readers. */
  public long readFrom() {
    synchronized (readers) {
      readers.removeIf(ChangeReader::isClosed);
      return readers.stream().mapToLong(ChangeReader::segment).min().orElse(Long.MAX_VALUE);
    }
  }
}
