package io.kvsep.server.redis;

import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterNode.Reads;
import org.jspecify.annotations.Nullable;

/**
 * How new the reads of a round must be on a node of a cluster. All commands of a round have arrived
 * before it, so its first read or write waits for other nodes, and later reads see at least the
 * same. If the cluster does not answer one command of a round, the others do not wait for it, too.
 * For one thread.
 */
final class RoundCalls {
  private final ClusterNode node;

  /** Index that reads have to see at least; -1 until the round has waited. */
  private long checked = -1;

  private @Nullable RuntimeException unavailable;

  RoundCalls(ClusterNode node) {
    this.node = node;
  }

  /** Begins a round: commands that arrived before may be executed. */
  void begin() {
    checked = -1;
    unavailable = null;
  }

  /** Begins a command that reads. */
  ClusterNode.Call begin(Session session) {
    return session.readsStale ? node.begin(Reads.STALE, session.lastWrite) : beginWrites();
  }

  /** Begins writes, which may read. */
  ClusterNode.Call beginWrites() {
    if (unavailable != null) {
      throw unavailable;
    }
    return checked < 0 ? node.begin(Reads.LINEARIZABLE, 0) : node.begin(Reads.STALE, checked);
  }

  /** After all of a call that was not stale went well. */
  void end(ClusterNode.Call call) {
    checked = Math.max(checked, call.index());
  }

  void failed(RuntimeException failure) {
    if (node.unavailable(failure) != null) {
      unavailable = failure;
    }
  }
}
