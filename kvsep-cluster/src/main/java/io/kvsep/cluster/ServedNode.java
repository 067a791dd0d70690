package io.kvsep.cluster;

import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterStatus;
import io.kvsep.server.cluster.LogPosition;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongFunction;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.apache.ratis.proto.RaftProtos.ReplicationLevel;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.jspecify.annotations.Nullable;

/** A node as its server sees it. Thread safe. */
final class ServedNode implements ClusterNode {
  private static final long POLL_NANOS = 2_000_000;

  private final String cluster;
  private final List<ReplicatedStore> shards;
  private final KvStore store;
  private final ToIntFunction<byte[]> shardOf;
  private final Runnable close;

  /** A node of one shard. */
  ServedNode(String cluster, ReplicatedStore replicated) {
    this.cluster = cluster;
    shards = List.of(replicated);
    store = replicated.store(Consistency.OF_CALL);
    shardOf = key -> 0;
    close = replicated::close;
  }

  /**
   * A node of several shards.
   *
   * @param afterwards runs when the node has closed
   */
  ServedNode(String cluster, ShardedStore sharded, Runnable afterwards) {
    this.cluster = cluster;
    shards = List.copyOf(sharded.shards());
    store = sharded.store(Consistency.OF_CALL);
    shardOf = sharded::indexOf;
    close =
        () -> {
          try {
            sharded.close();
          } finally {
            afterwards.run();
          }
        };
  }

  /** The calls of one thread. */
  private record ServedCall(CallScope scope, int shards) implements Call {
    @Override
    public LogPosition written() {
      return LogPosition.of(IntStream.range(0, shards).mapToLong(scope::written).toArray());
    }

    @Override
    public LogPosition position() {
      return LogPosition.of(IntStream.range(0, shards).mapToLong(scope::index).toArray());
    }

    @Override
    public void close() {
      scope.close();
    }
  }

  @Override
  public String cluster() {
    return cluster;
  }

  @Override
  public String nodeId() {
    return shards.get(0).nodeId();
  }

  @Override
  public KvStore store() {
    return store;
  }

  @Override
  public KvStore store(int shard) {
    return shards.get(shard).store(Consistency.OF_CALL);
  }

  @Override
  public int shards() {
    return shards.size();
  }

  @Override
  public int shardOf(byte[] key) {
    return shardOf.applyAsInt(key);
  }

  @Override
  public Call begin(Reads reads, LogPosition least) {
    return begin(
        index ->
            switch (reads) {
              case LINEARIZABLE -> Consistency.LINEARIZABLE;
              case LEADER -> Consistency.LEADER;
              case STALE -> Consistency.stale(index);
            },
        least);
  }

  @Override
  public Call resume(LogPosition seen) {
    return begin(index -> index < 0 ? Consistency.LINEARIZABLE : Consistency.stale(index), seen);
  }

  private Call begin(LongFunction<Consistency> consistency, LogPosition least) {
    int count = shards.size();
    Consistency[] reads = new Consistency[count];
    long[] minIndices = new long[count];
    for (int i = 0; i < count; i++) {
      minIndices[i] = least.index(i);
      reads[i] = consistency.apply(minIndices[i]);
    }
    return new ServedCall(CallScope.begin(shards, reads, minIndices), count);
  }

  @Override
  public @Nullable CompletableFuture<LogPosition> barrier() {
    return shards.size() > 1
        ? null
        : shards.get(0).barrier().seen().thenApply(index -> LogPosition.of(index));
  }

  @Override
  public boolean hasApplied(LogPosition position) {
    for (int i = 0; i < shards.size(); i++) {
      if (shards.get(i).appliedIndex() < position.index(i)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public @Nullable String leader(int shard) {
    return shards.get(shard).leader().orElse(null);
  }

  @Override
  public int awaitCopies(LogPosition position, int wanted, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    int least = Integer.MAX_VALUE;
    for (int i = 0; i < shards.size(); i++) {
      if (position.index(i) >= 0 || shards.size() == 1) {
        long index = Math.max(0, position.index(i));
        least = Math.min(least, awaitCopies(shards.get(i), index, wanted, deadline));
      }
    }
    return least < Integer.MAX_VALUE ? least : shards.get(0).members().size() - 1;
  }

  /** The leader knows the logs of the others. Another node asks it whether all have the entry. */
  private static int awaitCopies(
      ReplicatedStore replicated, long index, int wanted, long deadline) {
    int members = replicated.members().size();
    // What was acknowledged is in the logs of a majority.
    int least = members / 2;
    int most = Math.max(least, Math.min(wanted, members - 1));
    CompletableFuture<RaftClientReply> all = null;
    while (true) {
      int known = Math.max(least, replicated.copies(index));
      if (known >= most || System.nanoTime() - deadline >= 0) {
        return known;
      }
      if (all == null && replicated.role() != Role.LEADER) {
        all = replicated.watcher().async().watch(index, ReplicationLevel.ALL_COMMITTED);
      }
      if (all != null && all.isDone()) {
        if (!all.isCompletedExceptionally() && all.join().isSuccess()) {
          return members - 1;
        }
        all = null;
      }
      LockSupport.parkNanos(POLL_NANOS);
      if (Thread.currentThread().isInterrupted()) {
        return known;
      }
    }
  }

  @Override
  public @Nullable String unavailable(Throwable failure) {
    return failure instanceof ClusterException silent
        ? silent.getMessage()
            + (silent.isOutcomeUnknown() ? "; it may have been carried out or not" : "")
        : null;
  }

  @Override
  public @Nullable String crossShard(Throwable failure) {
    return failure instanceof CrossShardException ? failure.getMessage() : null;
  }

  @Override
  public ClusterStatus status() {
    return new ClusterStatus(
        cluster, nodeId(), IntStream.range(0, shards.size()).mapToObj(this::status).toList());
  }

  @Override
  public ClusterStatus.Group status(int shard) {
    ReplicatedStore replicated = shards.get(shard);
    String leader = leader(shard);
    Map<String, Long> committed = replicated.commitIndices();
    long commitIndex = replicated.committedIndex();
    if (leader != null) {
      commitIndex = Math.max(commitIndex, committed.getOrDefault(leader, 0L));
    }
    List<ClusterStatus.Member> members = new ArrayList<>();
    replicated
        .members()
        .forEach(
            (node, address) -> {
              boolean isThis = node.equals(nodeId());
              String role =
                  isThis
                      ? replicated.role().name()
                      : leader == null
                          ? null
                          : (node.equals(leader) ? Role.LEADER : Role.FOLLOWER).name();
              Long applied = isThis ? Long.valueOf(replicated.appliedIndex()) : committed.get(node);
              members.add(new ClusterStatus.Member(node, address, role, applied));
            });
    return new ClusterStatus.Group(
        shard, leader, replicated.term(), commitIndex, snapshotAgeMillis(replicated), members);
  }

  private static @Nullable Long snapshotAgeMillis(ReplicatedStore replicated) {
    SnapshotInfo latest = replicated.machine().getStateMachineStorage().getLatestSnapshot();
    List<FileInfo> files = latest == null ? List.of() : latest.getFiles();
    if (files.isEmpty()) {
      return null;
    }
    try {
      long made = Files.getLastModifiedTime(files.get(0).getPath().resolveSibling(".")).toMillis();
      return Math.max(0, System.currentTimeMillis() - made);
    } catch (IOException e) {
      // A newer one has just taken its place.
      return 0L;
    }
  }

  @Override
  public void add(String nodeId, String address) {
    shards.forEach(shard -> shard.add(nodeId, address));
  }

  @Override
  public void remove(String nodeId) {
    shards.forEach(shard -> shard.remove(nodeId));
  }

  @Override
  public void transferLeadership(String nodeId, int shard) {
    shards.get(shard).transferLeadership(nodeId);
  }

  @Override
  public long takeSnapshot(int shard) {
    return shards.get(shard).takeSnapshot();
  }

  @Override
  public void close() {
    close.run();
  }
}
