package io.kvsep.cluster;

import io.kvsep.Keyspace;
import io.kvsep.KvResources;
import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import io.kvsep.error.StorageException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.ratis.protocol.RaftGroupId;
import org.jspecify.annotations.Nullable;

/**
 * One node of a store whose keys are spread over several groups, each with a log, a leader and a
 * store of its own. Writes to different shards do not wait for each other, and leaders are spread
 * over the nodes. Thread safe.
 *
 * <p>The shard of a key is that of its slot in Redis Cluster: CRC16 of the key, or of what stands
 * in the first braces, modulo 16,384; each shard has an equal stretch of slots. The number of
 * shards is fixed when the cluster is made. All nodes are members of all shards.
 *
 * <p>A batch or transaction is within one shard. A shard takes about ten threads and 20 MiB, so
 * some tens of them fit into a process.
 */
public final class ShardedStore implements AutoCloseable {
  /** The most shards. */
  public static final int SHARDS_MAX = 64;

  private final RaftNode node;
  private final List<ReplicatedStore> shards = new ArrayList<>();

  private ShardedStore(ClusterOptions options, int count) {
    node = new RaftNode(options, group(options, 0, count), preferred(options, 0));
    try {
      for (int i = 0; i < count; i++) {
        RaftGroupId group = group(options, i, count);
        if (i > 0) {
          node.addGroup(group, preferred(options, i));
        }
        shards.add(new ReplicatedStore(options, node, group, /* ownsNode= */ false));
      }
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  /**
   * Starts a node.
   *
   * @param options of every shard; the address serves all of them
   * @param shards the number of shards, 1 to {@link #SHARDS_MAX}, the same at every start and on
   *     every node
   * @param resources memory and threads that the stores of the shards share; the options must not
   *     set others
   * @return the node
   * @throws IllegalArgumentException if the directory has another number of shards, or a {@link
   *     ReplicatedStore}
   * @throws StorageException if a log or a store cannot be opened, or the address is in use
   */
  public static ShardedStore open(ClusterOptions options, int shards, KvResources resources) {
    Objects.requireNonNull(resources, "resources");
    if (shards < 1 || shards > SHARDS_MAX) {
      throw new IllegalArgumentException("shards must be from 1 to 64, is " + shards);
    }
    ShardCount.require(options.directory(), shards);
    return new ShardedStore(options.withResources(resources), shards);
  }

  /** {@return the number of shards} */
  public int count() {
    return shards.size();
  }

  /**
   * {@return a shard} Scans, transactions and members are those of each shard.
   *
   * @param index from 0
   */
  public ReplicatedStore shard(int index) {
    return shards.get(index);
  }

  /**
   * {@return the index of the shard of {@code key}}
   *
   * @param key the key
   */
  public int indexOf(byte[] key) {
    return Slots.of(Objects.requireNonNull(key, "key")) * shards.size() / Slots.COUNT;
  }

  /**
   * {@return the shard of {@code key}}
   *
   * @param key the key
   */
  public ReplicatedStore shardOf(byte[] key) {
    return shards.get(indexOf(key));
  }

  /** {@return as {@link #store(Consistency)}, with linearizable reads} */
  public KvStore store() {
    return store(Consistency.LINEARIZABLE);
  }

  /**
   * {@return all shards as one store} Calls with a key go to its shard. Batches, transactions,
   * snapshots and {@code getAll} are of one shard, that of their first key, and throw {@link
   * CrossShardException} for a key of another one; nothing was written then. Cursors have the
   * entries of all shards in order: each shard as of one moment, but not all as of the same.
   *
   * <p>Deleting a range, and creating or dropping a keyspace, is done in one shard after the other.
   * After an error some of them may be done; repeat it. Statistics are sums.
   *
   * <p>Feeds of changes, backups, checkpoints, write buffers, and numbers of snapshots are those of
   * each {@link #shard}: here they throw {@link UnsupportedOperationException}.
   *
   * @param consistency of reads; with {@link Consistency#stale} of no index, since indices are
   *     those of one shard
   */
  public KvStore store(Consistency consistency) {
    if (consistency.minIndex() > 0) {
      throw new IllegalArgumentException("an index is of one shard: " + consistency);
    }
    return new ShardedKvStore(
        this, consistency, shards.stream().map(shard -> shard.store(consistency)).toList());
  }

  /**
   * Reads a key.
   *
   * @param key the key
   * @param consistency how new the state must be
   * @return a copy of the value, or null if the key is absent
   */
  public byte @Nullable [] get(byte[] key, Consistency consistency) {
    return shardOf(key).get(key, consistency);
  }

  /**
   * Applies a batch atomically.
   *
   * @param batch writes to keys of one shard, without deleted ranges
   * @throws CrossShardException if its keys belong to several shards, or if it deletes a range,
   *     which has keys of all shards; nothing was written
   */
  public void write(WriteBatch batch) {
    BatchShard target = new BatchShard();
    batch.forEach(target);
    if (target.shard >= 0) {
      shards.get(target.shard).write(batch);
    }
  }

  /**
   * {@return the keyspace of this name, which is created in every shard that lacks it} Not
   * atomically: after an error some shards may have it, and the call may be repeated.
   *
   * @param name as for {@link io.kvsep.KvStore#keyspace}
   */
  public Keyspace keyspace(String name) {
    Keyspace last = null;
    for (ReplicatedStore shard : shards) {
      last = shard.store().keyspace(name);
    }
    return Objects.requireNonNull(last);
  }

  /** Stops the node and closes its stores. Idempotent. */
  @Override
  public void close() {
    shards.forEach(ReplicatedStore::close);
    node.close();
  }

  List<ReplicatedStore> shards() {
    return shards;
  }

  /** Waits for all shards at once, if reads wait as the {@link CallScope} of the thread says. */
  void awaitAll(Consistency consistency) {
    if (consistency == Consistency.OF_CALL) {
      CallScope.awaitAll();
    }
  }

  /** The shard of all keys, -1 if there are none; throws if there are several. */
  int indexOfAll(List<byte[]> keys) {
    BatchShard target = new BatchShard();
    keys.forEach(target::meet);
    return target.shard;
  }

  /** Nodes of different numbers of shards, which put keys into different ones, share no group. */
  private static RaftGroupId group(ClusterOptions options, int index, int count) {
    return RaftNode.groupId(options.group() + "/" + index + "/" + count);
  }

  /** The node that leads a shard when it can, in turns. */
  private static String preferred(ClusterOptions options, int index) {
    List<String> nodes = options.peers().keySet().stream().sorted().toList();
    return nodes.get(index % nodes.size());
  }

  /** Finds the shard of all writes. */
  private final class BatchShard implements WriteBatch.Visitor {
    int shard = -1;

    @Override
    public void put(@Nullable Keyspace keyspace, byte[] key, byte[] value) {
      meet(key);
    }

    @Override
    public void put(@Nullable Keyspace keyspace, byte[] key, byte[] value, Duration timeToLive) {
      meet(key);
    }

    @Override
    public void putUntil(
        @Nullable Keyspace keyspace, byte[] key, byte[] value, long expiresAtMillis) {
      meet(key);
    }

    @Override
    public void delete(@Nullable Keyspace keyspace, byte[] key) {
      meet(key);
    }

    @Override
    public void deleteRange(@Nullable Keyspace keyspace, byte[] from, byte[] to) {
      throw CrossShardException.ofRange("a batch");
    }

    private void meet(byte[] key) {
      int index = indexOf(key);
      if (shard >= 0 && shard != index) {
        throw CrossShardException.ofKeys("a call", shard, index);
      }
      shard = index;
    }
  }
}
