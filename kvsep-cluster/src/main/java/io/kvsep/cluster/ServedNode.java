package io.kvsep.cluster;

import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.apache.ratis.proto.RaftProtos.ReplicationLevel;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.jspecify.annotations.Nullable;

/** A node as its server sees it. Thread safe. */
final class ServedNode implements ClusterNode {
  private static final long POLL_NANOS = 2_000_000;

  private final String cluster;
  private final ReplicatedStore replicated;
  private final KvStore store;

  ServedNode(String cluster, ReplicatedStore replicated) {
    this.cluster = cluster;
    this.replicated = replicated;
    store = replicated.store(Consistency.OF_CALL);
  }

  /** The calls of one thread. */
  private record ServedCall(CallScope scope) implements Call {
    @Override
    public long writtenIndex() {
      return scope.written(0);
    }

    @Override
    public long index() {
      return scope.index(0);
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
    return replicated.nodeId();
  }

  @Override
  public KvStore store() {
    return store;
  }

  @Override
  public Call begin(Reads reads, long minIndex) {
    Consistency consistency =
        switch (reads) {
          case LINEARIZABLE -> Consistency.LINEARIZABLE;
          case LEADER -> Consistency.LEADER;
          case STALE -> Consistency.stale(minIndex);
        };
    return new ServedCall(CallScope.begin(replicated, consistency, minIndex));
  }

  @Override
  public boolean hasApplied(long index) {
    return replicated.appliedIndex() >= index;
  }

  @Override
  public @Nullable String leader() {
    return replicated.leader().orElse(null);
  }

  /** The leader knows the logs of the others. Another node asks it whether all have the entry. */
  @Override
  public int awaitCopies(long index, int wanted, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
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
  public ClusterStatus status() {
    String leader = leader();
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
    return new ClusterStatus(
        cluster,
        nodeId(),
        List.of(
            new ClusterStatus.Group(
                0, leader, replicated.term(), commitIndex, snapshotAgeMillis(), members)));
  }

  private @Nullable Long snapshotAgeMillis() {
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
    replicated.add(nodeId, address);
  }

  @Override
  public void remove(String nodeId) {
    replicated.remove(nodeId);
  }

  @Override
  public void transferLeadership(String nodeId) {
    replicated.transferLeadership(nodeId);
  }

  @Override
  public long takeSnapshot() {
    return replicated.takeSnapshot();
  }

  @Override
  public void close() {
    replicated.close();
  }
}
