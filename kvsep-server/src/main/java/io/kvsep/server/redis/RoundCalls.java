package io.kvsep.server.redis;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterNode.Reads;
import io.kvsep.server.cluster.LogPosition;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * How new the reads of a round must be on a node of a cluster. All commands of a round have arrived
 * before it, so its first read or write of a shard waits for other nodes, and later reads see at
 * least the same. If a shard does not answer one command of a round, the others do not wait for it,
 * too. Thread safe, for writes of several shards.
 */
final class RoundCalls {
  private final ClusterNode node;

  /** What reads have to see at least, of the shards that have answered in this round. */
  @GuardedBy("this")
  private LogPosition checked = LogPosition.NONE;

  /** By shard, null while it answers. */
  @GuardedBy("this")
  private final @Nullable RuntimeException[] unavailable;

  RoundCalls(ClusterNode node) {
    this.node = node;
    unavailable = new RuntimeException[node.shards()];
  }

  /** Begins a round: commands that arrived before may be executed. */
  synchronized void begin() {
    checked = LogPosition.NONE;
    Arrays.fill(unavailable, null);
  }

  /**
   * Begins a command that reads.
   *
   * @param shard {@link Command#NO_SHARD} if it has no keys
   */
  ClusterNode.Call begin(Session session, int shard) {
    return session.readsStale ? node.begin(Reads.STALE, session.lastWrite) : beginWrites(shard);
  }

  /** Begins writes, which may read. */
  ClusterNode.Call beginWrites(int shard) {
    LogPosition seen;
    synchronized (this) {
      RuntimeException failure = shard == Command.NO_SHARD ? null : unavailable[shard];
      if (failure != null) {
        throw failure;
      }
      seen = checked;
    }
    return node.resume(seen);
  }

  /** After all of a call that was not stale went well. */
  synchronized void end(ClusterNode.Call call) {
    checked = checked.max(call.position());
  }

  synchronized void failed(RuntimeException failure, int shard) {
    if (shard != Command.NO_SHARD && node.unavailable(failure) != null) {
      unavailable[shard] = failure;
    }
  }
}
