package io.kvsep.internal.feed;

import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.write.LogTail;
import io.kvsep.internal.write.StoreWrites;
import io.kvsep.internal.write.WriteRequest;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;

/** Opens readers of the changes that the log has. Thread safe. */
public final class ChangeLog {
  private final StoreWrites writes;
  private final LogTail appender;
  private final FailureState failure;
  private final ChangeReader.Source source;

  /** Those that are not closed; one that nobody has any more need not be. */
  private final Set<ChangeReader> readers = Collections.newSetFromMap(new WeakHashMap<>());

  public ChangeLog(
      StoreWrites writes, LogTail appender, FailureState failure, ChangeReader.Source source) {
    this.writes = writes;
    this.appender = appender;
    this.failure = failure;
    this.source = source;
  }

  /**
   * A reader of what was committed after a number.
   *
   * @throws IllegalArgumentException when nothing of this store has that number
   * @throws IllegalStateException when the store was opened for reading only
   */
  public ChangeReader open(long after) {
    EpochSlot<WriteRequest> slot = writes.enter();
    try {
      long last = source.snapshots().visibleSequence();
      if (after < 0 || after > last) {
        throw new IllegalArgumentException(
            "no change of this store has number " + after + ", it is at " + last);
      }
      failure.check();
      // A number that a power failure took back would be given out again, to another change.
      appender.sync();
      ChangeReader reader = new ChangeReader(source, after);
      reader.requireAll(source.versions().current());
      synchronized (readers) {
        readers.add(reader);
      }
      return reader;
    } finally {
      writes.exit(slot);
    }
  }

  /**
   * The oldest segment in which an open reader is or comes to be; {@link Long#MAX_VALUE} without
   * readers. What is before it may go without anybody's missing it now.
   */
  public long readFrom() {
    synchronized (readers) {
      readers.removeIf(ChangeReader::isClosed);
      return readers.stream().mapToLong(ChangeReader::segment).min().orElse(Long.MAX_VALUE);
    }
  }
}
