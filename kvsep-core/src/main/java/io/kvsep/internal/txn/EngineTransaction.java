package io.kvsep.internal.txn;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.write.KeyspaceCatalog;
import io.kvsep.internal.write.StoreWrites;
import java.time.Clock;

/**
 * An optimistic transaction: reads at a snapshot, keeps its writes on the heap and records its
 * reads. The commit writes one batch if nothing read has changed since, which {@link ConflictCheck}
 * checks while no other write can commit. So each transaction that wrote is serialized at its
 * commit, and each read-only one at its start.
 *
 * <p>A cursor reads the whole range from its start to its position. Ending the transaction releases
 * the snapshot.
 */
public final class EngineTransaction extends UncommittedView {
  private static final long UNCOMMITTED = -1;

  private final StoreWrites writes;
  private final MemtableHighWater.MarkedSnapshot start;
  private final ReadSet readSet = new ReadSet();
  private volatile boolean conflicted;
  private volatile boolean commitFailed;

  /** Sequence number of the last write, {@link #UNCOMMITTED} before the commit. */
  private volatile long version = UNCOMMITTED;

  public EngineTransaction(
      StoreReads reads, StoreWrites writes, KeyspaceCatalog keyspaces, Clock clock) {
    super(reads, keyspaces, clock, "transaction");
    this.writes = writes;
    this.start = reads.begin();
  }

  /** Sequence number of the snapshot. */
  public long sequence() {
    return start.hold().sequence();
  }

  @Override
  SnapshotLease hold() {
    return start.hold();
  }

  @Override
  void noteRead(byte[] stored) {
    readSet.add(stored);
  }

  @Override
  void noteRead(byte[] from, byte[] to, boolean inclusive) {
    boolean noted = false;
    try {
      readSet.add(from, inclusive ? ReadSet.successor(to) : to);
      noted = true;
    } finally {
      if (!noted) {
        readSet.lose();
      }
    }
  }

  /** Writes everything atomically; ends the transaction in any case. */
  public void commit() {
    long holds = holds();
    try {
      claim();
      commitFailed = true;
      try {
        write();
        commitFailed = false;
      } finally {
        finish();
      }
    } finally {
      end(holds);
    }
  }

  private void write() {
    if (own.isEmpty()) {
      version = 0;
      return;
    }
    own.keyspaces().forEach(keyspaces::requirePresent);
    cursors.forEach(TransactionCursor::tellRead);
    ConflictCheck check =
        readSet.isEmpty()
            ? null
            : new ConflictCheck(reads, readSet.toRanges(), sequence(), start.mark());
    long last = writes.write(own.records(clock.millis()), own.keyspaces(), check);
    if (last == StoreWrites.CONFLICT) {
      conflicted = true;
      throw new ConflictException("something that the transaction read was changed since");
    }
    version = last;
  }

  /**
   * Discards everything; throws if the transaction has ended or the store is closed. A failed
   * commit has discarded everything, so nothing is left to do then.
   */
  public void rollback() {
    if (isOver() && commitFailed) {
      return;
    }
    long holds = holds();
    try {
      claim();
      finish();
    } finally {
      end(holds);
    }
  }

  /** Whether the commit failed because of a conflict. */
  public boolean isConflicted() {
    return conflicted;
  }

  /** Sequence number of the last write, 0 if there was none; throws before the commit. */
  public long version() {
    if (version == UNCOMMITTED) {
      throw new IllegalStateException("the transaction was not committed");
    }
    return version;
  }

  @Override
  void finish() {
    try {
      super.finish();
    } finally {
      reads.releaseSnapshot(start.hold());
    }
  }
}
