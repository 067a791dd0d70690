package io.kvsep.cluster;

import io.kvsep.Keyspace;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.Snapshot;
import io.kvsep.error.StoreClosedException;
import java.util.List;

/** A snapshot of the shard of the first key that is read, as of that read. */
final class ShardSnapshot extends ShardRouter implements Snapshot {
  private final OneShard<Snapshot> snapshot;
  private boolean closed;

  ShardSnapshot(ShardedStore sharded, List<KvStore> shards) {
    super(sharded);
    snapshot = new OneShard<>("a snapshot", shard -> shards.get(shard).snapshot());
  }

  @Override
  synchronized Snapshot at(int shard) {
    if (closed) {
      throw new StoreClosedException("the snapshot is closed");
    }
    return snapshot.at(shard);
  }

  @Override
  List<KvReader> all() {
    throw snapshot.refusal();
  }

  @Override
  public KvReader in(Keyspace keyspace) {
    return new ShardRouter(sharded) {
      @Override
      KvReader at(int shard) {
        return ShardSnapshot.this.at(shard).in(keyspace);
      }

      @Override
      List<KvReader> all() {
        throw snapshot.refusal();
      }
    };
  }

  @Override
  public long sequence() {
    throw new UnsupportedOperationException("each shard has sequence numbers of its own");
  }

  @Override
  public synchronized void close() {
    closed = true;
    Snapshot begun = snapshot.begun();
    if (begun != null) {
      begun.close();
    }
  }
}
