package io.kvsep.internal.txn;

import io.kvsep.error.LimitExceededException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.vlog.RecordSource;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.internal.write.KeyspaceCatalog;
import io.kvsep.internal.write.StoreWrites;
import java.time.Clock;
import java.util.HashSet;
import java.util.Set;

/** Uncommitted writes over the newest state of the store, without detection of conflicts. */
public final class EngineWriteBuffer extends UncommittedView {
  private final StoreWrites writes;

  public EngineWriteBuffer(
      StoreReads reads, StoreWrites writes, KeyspaceCatalog keyspaces, Clock clock) {
    super(reads, keyspaces, clock, "write buffer");
    this.writes = writes;
    // Throws if the store is closed.
    reads.currentState().get();
  }

  @Override
  SnapshotLease hold() {
    return StoreReads.LATEST;
  }

  @Override
  void noteRead(byte[] stored) {}

  @Override
  void noteRead(byte[] from, byte[] to, boolean inclusive) {}

  /** Bytes of the keys and values that it holds. */
  public long bytes() {
    long holds = holds();
    try {
      claim();
      return own.view().payloadBytes();
    } finally {
      end(holds);
    }
  }

  /** Writes everything, and then {@code extra}, atomically; on failure nothing has changed. */
  public void commit(BatchWrites extra) {
    long holds = holds();
    try {
      claim();
      Set<Integer> used = new HashSet<>(own.keyspaces());
      used.addAll(extra.keyspaces());
      used.forEach(keyspaces::requirePresent);
      long now = clock.millis();
      RecordSource records = new JoinedRecords(own.records(now), extra.records(now));
      if (records.recordCount() > 0) {
        requireWithinLimit(records);
        writes.write(records, used, /* check= */ null);
        own.clear();
      }
    } finally {
      end(holds);
    }
  }

  private static void requireWithinLimit(RecordSource records) {
    long framed =
        records.payloadBytes() + (long) records.recordCount() * BatchWrites.RECORD_OVERHEAD_BYTES;
    if (records.recordCount() > 1 && framed > Limits.BATCH_BYTES_MAX) {
      throw new LimitExceededException(
          "buffer and batch have " + framed + " bytes, the limit is " + Limits.BATCH_BYTES_MAX);
    }
  }

  /** Forgets all writes. */
  public void discard() {
    long holds = holds();
    try {
      claim();
      own.clear();
    } finally {
      end(holds);
    }
  }

  /** The records of one source, then those of another. */
  private static final class JoinedRecords extends RecordSource {
    private final RecordSource first;
    private final RecordSource second;

    JoinedRecords(RecordSource first, RecordSource second) {
      this.first = first;
      this.second = second;
    }

    @Override
    public void rewind() {
      first.rewind();
      second.rewind();
    }

    @Override
    public boolean next() {
      if (first.next()) {
        show(first);
        return true;
      }
      if (second.next()) {
        show(second);
        return true;
      }
      return false;
    }

    private void show(RecordSource source) {
      keyspace = source.keyspace;
      kind = source.kind;
      key = source.key;
      keyOffset = source.keyOffset;
      keyLength = source.keyLength;
      value = source.value;
      valueOffset = source.valueOffset;
      valueLength = source.valueLength;
      expiresAtMillis = source.expiresAtMillis;
    }

    @Override
    public int recordCount() {
      return first.recordCount() + second.recordCount();
    }

    @Override
    public long payloadBytes() {
      return first.payloadBytes() + second.payloadBytes();
    }
  }
}
