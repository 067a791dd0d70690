package io.kvsep.cluster;

import static io.kvsep.cluster.ForwardingReader.bytes;

import io.kvsep.ChangeFeed;
import io.kvsep.Durability;
import io.kvsep.Keyspace;
import io.kvsep.KeyspaceStats;
import io.kvsep.KeyspaceView;
import io.kvsep.KvStore;
import io.kvsep.ReclaimReport;
import io.kvsep.SegmentStats;
import io.kvsep.Snapshot;
import io.kvsep.StoreStats;
import io.kvsep.Transaction;
import io.kvsep.VerifyReport;
import io.kvsep.WriteBatch;
import io.kvsep.WriteBuffer;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.function.Function;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** All shards as one store, as far as that can be. */
final class ShardedKvStore extends ShardedView implements KvStore {
  private final List<KvStore> shards;

  ShardedKvStore(ShardedStore sharded, Consistency consistency, List<KvStore> shards) {
    super(sharded, consistency, shards);
    this.shards = shards;
  }

  @Override
  public void put(BytesStore<?, ?> key, BytesStore<?, ?> value) {
    put(bytes(Objects.requireNonNull(key, "key")), bytes(Objects.requireNonNull(value, "value")));
  }

  @Override
  public void write(WriteBatch batch) {
    sharded.write(batch);
  }

  /** False: every write waits for other nodes. */
  @Override
  public boolean tryWrite(WriteBatch batch) {
    Objects.requireNonNull(batch, "batch");
    return false;
  }

  @Override
  public long writeVersioned(WriteBatch batch) {
    throw new UnsupportedOperationException("a replicated store has no versions of batches");
  }

  /** The log is synced by a majority, whatever {@code durability} says. */
  @Override
  public void write(WriteBatch batch, Durability durability) {
    Objects.requireNonNull(durability, "durability");
    write(batch);
  }

  @Override
  public Snapshot snapshot() {
    return new ShardSnapshot(sharded, shards);
  }

  @Override
  public Transaction begin() {
    return new ShardTransaction(sharded, consistency);
  }

  @Override
  public <R extends @Nullable Object> R transact(Function<Transaction, R> work) {
    Objects.requireNonNull(work, "work");
    return ReplicatedTransaction.<ShardTransaction, R>transact(
        () -> new ShardTransaction(sharded, consistency), work::apply);
  }

  @Override
  public WriteBuffer buffer() {
    throw ofOneShard("a write buffer");
  }

  @Override
  public Keyspace keyspace(String name) {
    return keyspaces(List.of(name)).get(0);
  }

  /** In one shard after the other: after an error some may have it, and it may be repeated. */
  @Override
  public List<Keyspace> keyspaces(Collection<String> names) {
    sharded.awaitAll(consistency);
    List<Keyspace> found = List.of();
    for (KvStore shard : shards) {
      found = shard.keyspaces(names);
    }
    return found;
  }

  /** Those of any shard, so that what was not created or dropped in all of them can be. */
  @Override
  public List<String> keyspaces() {
    sharded.awaitAll(consistency);
    TreeSet<String> names = new TreeSet<>();
    shards.forEach(shard -> names.addAll(shard.keyspaces()));
    return List.copyOf(names);
  }

  /** As {@link #keyspaces(Collection)}. */
  @Override
  public void dropKeyspace(Keyspace keyspace) {
    shards.forEach(shard -> shard.dropKeyspace(keyspace));
  }

  @Override
  public KeyspaceView in(Keyspace keyspace) {
    return new ShardedView(
        sharded, consistency, shards.stream().map(shard -> shard.in(keyspace)).toList());
  }

  @Override
  public void sync() {
    shards.forEach(KvStore::sync);
  }

  @Override
  public void flush() {
    shards.forEach(KvStore::flush);
  }

  @Override
  public void compact() {
    shards.forEach(KvStore::compact);
  }

  @Override
  public ReclaimReport reclaim() {
    return ShardSums.reclaimed(shards.stream().map(KvStore::reclaim).toList());
  }

  @Override
  public VerifyReport verify() {
    return ShardSums.verified(shards.stream().map(KvStore::verify).toList());
  }

  @Override
  public void checkpoint(Path directory) {
    throw ofOneShard("a checkpoint");
  }

  @Override
  public long backup(OutputStream output, long sinceSequence) {
    throw ofOneShard("a backup");
  }

  @Override
  public long restore(InputStream input) {
    throw new UnsupportedOperationException(
        "a backup cannot be restored into a replicated store: write its content in batches");
  }

  @Override
  public long bulkLoad(Keyspace keyspace, Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    return bulkLoad(entries);
  }

  @Override
  public ChangeFeed changes(long afterSequence) {
    throw ofOneShard("a change feed");
  }

  @Override
  public StoreStats stats() {
    return ShardSums.of(shards.stream().map(KvStore::stats).toList());
  }

  @Override
  public KeyspaceStats stats(Keyspace keyspace) {
    List<KeyspaceStats> each = shards.stream().map(shard -> shard.stats(keyspace)).toList();
    return new KeyspaceStats(
        each.stream().mapToLong(KeyspaceStats::entriesEstimate).sum(),
        each.stream().mapToLong(KeyspaceStats::keyBytes).sum(),
        each.stream().mapToLong(KeyspaceStats::valueBytes).sum());
  }

  @Override
  public List<SegmentStats> segments() {
    return shards.stream().flatMap(shard -> shard.segments().stream()).toList();
  }

  /** Nothing: the node is closed where it was opened. */
  @Override
  public void close() {}

  private static UnsupportedOperationException ofOneShard(String what) {
    return new UnsupportedOperationException(
        what + " is of one shard, and this store has several: the library has it for each");
  }
}
