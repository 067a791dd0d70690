package io.kvsep.server.cluster;

import io.kvsep.KvStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A node of a cluster, as its server sees it. Thread safe. */
public interface ClusterNode extends AutoCloseable {
  /** How new the state is that reads see. */
  enum Reads {
    /** Every write that was acknowledged before the read began. */
    LINEARIZABLE,
    /** On the leader what it has applied, elsewhere as {@link #LINEARIZABLE}. */
    LEADER,
    /** What this node has applied. */
    STALE
  }

  /** Calls of one thread to the store that belong together, until it is closed. */
  interface Call extends AutoCloseable {
    /** Indices of the last write to each shard in its log. */
    LogPosition written();

    /**
     * Of each shard, the index of the last write. Without a write, an index at or above that of
     * every entry that was read; none if the shard was not used.
     */
    LogPosition position();

    @Override
    void close();
  }

  /** Name of the cluster. */
  String cluster();

  /** Name of this node. */
  String nodeId();

  /**
   * The store of the cluster. Its reads are as new as the {@link #begin call} of the thread says,
   * and stale outside of one.
   */
  KvStore store();

  /** The store of one shard, with reads as those of {@link #store()}. */
  default KvStore store(int shard) {
    return store();
  }

  /** Number of shards, each with a log and a leader of its own. */
  default int shards() {
    return 1;
  }

  /** The shard of a key, from 0. */
  default int shardOf(byte[] key) {
    return 0;
  }

  /**
   * Begins a call of the current thread. Its first read of each shard waits as {@code reads} says,
   * and all see at least the entries of {@code least} and the writes of the call.
   */
  Call begin(Reads reads, LogPosition least);

  /**
   * Begins a call that goes on after others. Reads of the shards that {@code seen} has see at least
   * its entries, those of other shards are linearizable.
   */
  Call resume(LogPosition seen);

  /**
   * Completes with a position behind every write that was acknowledged before the call, so that
   * stale reads that see it are linearizable. Fails if the cluster does not answer, see {@link
   * #unavailable}. Null if the node has several shards.
   */
  default @Nullable CompletableFuture<LogPosition> barrier() {
    return null;
  }

  /** Whether the store of this node has all entries of a position. */
  boolean hasApplied(LogPosition position);

  /** Name of the leader of a shard, null while this node knows none. */
  @Nullable String leader(int shard);

  /**
   * Waits until the entries of a position are in the logs of so many nodes beside the leader, or
   * the time is up.
   *
   * @return the number of nodes that are known to have all
   */
  int awaitCopies(LogPosition position, int wanted, Duration timeout);

  /**
   * Returns what to tell a client if {@code failure} means that the cluster did not answer, null if
   * it means anything else.
   */
  @Nullable String unavailable(Throwable failure);

  /**
   * Returns what to tell a client if {@code failure} means that keys of several shards were given
   * to what is of one, null if it means anything else. Nothing was written.
   */
  default @Nullable String crossShard(Throwable failure) {
    return null;
  }

  /** The cluster as this node knows it. */
  ClusterStatus status();

  /** A shard of it. */
  ClusterStatus.Group status(int shard);

  /** Adds a member to all shards and waits until it has caught up. Does nothing if it is one. */
  void add(String nodeId, String address);

  /** Removes a member from all shards. Does nothing if it is none. */
  void remove(String nodeId);

  /** Makes a member the leader of a shard. */
  void transferLeadership(String nodeId, int shard);

  /** Takes a snapshot of a shard of this node; returns the index of its last entry. */
  long takeSnapshot(int shard);

  @Override
  void close();
}
