package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.view.SnapshotLease;
import java.util.Objects;

/** A snapshot: a reader at a sequence number leased from the engine. */
final class StoreSnapshot extends EngineReader implements Snapshot {
  private final SnapshotLease hold;

  StoreSnapshot(StorageEngine engine) {
    super(engine, Keyspaces.DEFAULT);
    this.hold = engine.reads().acquireSnapshot();
  }

  @Override
  public KvReader in(Keyspace keyspace) {
    int id = Objects.requireNonNull(keyspace, "keyspace").idIn(engine);
    engine.keyspaces().requirePresentAt(id, sequence());
    return new EngineReader(engine, id) {
      @Override
      SnapshotLease hold() {
        return StoreSnapshot.this.hold();
      }
    };
  }

  @Override
  public long sequence() {
    return engine.reads().heldSequence(hold);
  }

  @Override
  SnapshotLease hold() {
    // A closed snapshot is reported before any other error. Reads check the store.
    hold.heldSequence();
    return hold;
  }

  @Override
  public void close() {
    engine.reads().releaseSnapshot(hold);
  }
}
