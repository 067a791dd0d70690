package io.kvsep;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.SnapshotHold;
import io.kvsep.internal.engine.StorageEngine;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/** A snapshot: a reader at a sequence number that the engine holds for it. */
final class StoreSnapshot extends EngineReader implements Snapshot {
  private final SnapshotHold hold;
  private final AtomicBoolean closed = new AtomicBoolean();

  StoreSnapshot(StorageEngine engine) {
    super(engine, Keyspaces.DEFAULT);
    this.hold = engine.reads().acquireSnapshot();
  }

  @Override
  public KvReader in(Keyspace keyspace) {
    int id = Objects.requireNonNull(keyspace, "keyspace").idIn(engine);
    readSequence();
    return new EngineReader(engine, id) {
      @Override
      long readSequence() {
        return StoreSnapshot.this.readSequence();
      }

      @Override
      void confirm() {
        StoreSnapshot.this.confirm();
      }
    };
  }

  @Override
  public long sequence() {
    return readSequence();
  }

  @Override
  long readSequence() {
    if (closed.get()) {
      throw new StoreClosedException("the snapshot is closed");
    }
    return hold.sequence();
  }

  @Override
  void confirm() {
    // Closed in the middle of a read, the snapshot no longer kept compaction from what was read.
    readSequence();
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      engine.reads().releaseSnapshot(hold);
    }
  }
}
