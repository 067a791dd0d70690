package io.kvsep.cluster;

import io.kvsep.KeyspaceView;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One keyspace of all shards. */
class ShardedView extends ShardWriter implements KeyspaceView {
  final Consistency consistency;
  private final List<? extends KeyspaceView> shards;

  ShardedView(ShardedStore sharded, Consistency consistency, List<? extends KeyspaceView> shards) {
    super(sharded);
    this.consistency = consistency;
    this.shards = shards;
  }

  @Override
  KeyspaceView at(int shard) {
    return shards.get(shard);
  }

  @Override
  List<? extends KeyspaceView> all() {
    sharded.awaitAll(consistency);
    return shards;
  }

  /** Of one shard after the other: after an error some may be done, and it may be repeated. */
  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    Objects.requireNonNull(fromInclusive, "fromInclusive");
    Objects.requireNonNull(toExclusive, "toExclusive");
    shards.forEach(shard -> shard.deleteRange(fromInclusive, toExclusive));
  }

  @Override
  public boolean compareAndSet(byte[] key, byte @Nullable [] expected, byte[] value) {
    return at(sharded.indexOf(key)).compareAndSet(key, expected, value);
  }

  @Override
  public boolean compareAndDelete(byte[] key, byte[] expected) {
    return at(sharded.indexOf(key)).compareAndDelete(key, expected);
  }

  @Override
  public long bulkLoad(Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    throw new UnsupportedOperationException("a replicated store has no bulk load: write batches");
  }
}
