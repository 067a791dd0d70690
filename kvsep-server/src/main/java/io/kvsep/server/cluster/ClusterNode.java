package io.kvsep.server.cluster;

import io.kvsep.KvStore;
import java.time.Duration;
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
    /** Index of the last write in the log, -1 if there was none. */
    long writtenIndex();

    /**
     * Index of the last write. Without a write, an index at or above that of every entry that was
     * read; -1 if the store was not used.
     */
    long index();

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

  /**
   * Begins a call of the current thread. Its first read waits as {@code reads} says, and all see at
   * least the entry of {@code minIndex} and the writes of the call.
   *
   * @param minIndex 0 or less for no entry
   */
  Call begin(Reads reads, long minIndex);

  /** Whether the store of this node has the entry of an index. */
  boolean hasApplied(long index);

  /** Name of the leader, null while this node knows none. */
  @Nullable String leader();

  /**
   * Waits until an entry is in the logs of so many nodes beside the leader, or the time is up.
   *
   * @return the number of nodes that are known to have it
   */
  int awaitCopies(long index, int wanted, Duration timeout);

  /**
   * Returns what to tell a client if {@code failure} means that the cluster did not answer, null if
   * it means anything else.
   */
  @Nullable String unavailable(Throwable failure);

  /** The cluster as this node knows it. */
  ClusterStatus status();

  /** Adds a member and waits until it has caught up. Does nothing if it is one. */
  void add(String nodeId, String address);

  /** Removes a member. Does nothing if it is none. */
  void remove(String nodeId);

  /** Makes a member the leader. */
  void transferLeadership(String nodeId);

  /** Takes a snapshot of this node; returns the index of its last entry. */
  long takeSnapshot();

  @Override
  void close();
}
