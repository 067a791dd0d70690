package io.kvsep.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.Snapshot;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.proto.RaftProtos.CommitInfoProto;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.SetConfigurationRequest;
import org.apache.ratis.protocol.SnapshotManagementRequest;
import org.apache.ratis.protocol.exceptions.SetConfigurationException;
import org.apache.ratis.protocol.exceptions.StateMachineException;
import org.apache.ratis.server.DivisionInfo;
import org.jspecify.annotations.Nullable;

/**
 * One node of a replicated store: a log that a majority of the nodes agrees on (Raft), and a kvsep
 * store that every node applies it to. All nodes serve all calls; writes go through the leader,
 * wherever it is, reads come from the store of this node. Thread safe.
 *
 * <pre>{@code
 * Map<String, String> peers =
 *     Map.of("a", "10.0.0.1:7101", "b", "10.0.0.2:7101", "c", "10.0.0.3:7101");
 * ClusterOptions options = ClusterOptions.builder("a", peers, Path.of("data")).tls(tls).build();
 * try (ReplicatedStore node = ReplicatedStore.open(options)) {
 *   KvStore store = node.store();
 *   store.put(key, value); // on stable storage of a majority
 *   byte[] copy = store.get(key); // the newest value, on every node
 * }
 * }</pre>
 *
 * <p><b>Writes</b> that return are in the log of a majority, synced, and applied by the leader.
 * They outlive the loss of any minority of the nodes. A write that throws {@link ClusterException}
 * may have been applied or be applied later ({@link ClusterException#isOutcomeUnknown}); repeating
 * it makes it happen at least once. While it waits, the library repeats it itself, and the nodes
 * recognize the repetition for a minute, but not across a restart of all nodes that have seen it.
 * Only one-time effects matter here: repeat an increment or a conditional write only after reading.
 *
 * <p><b>Reads</b> are as new as their {@link Consistency} says. <b>Transactions</b> run on this
 * node and are checked by content when they are applied.
 *
 * <p>Errors of a device or of the store stop the node; the others go on without it.
 */
public final class ReplicatedStore implements AutoCloseable {
  private final ClusterOptions options;
  private final RaftNode node;
  private final boolean ownsNode;
  private final RaftGroupId group;
  private final GroupStateMachine machine;
  private final WriteGatherer writes;
  private final ReadBarrier barrier;
  private final Object watcherLock = new Object();

  @GuardedBy("watcherLock")
  private @Nullable RaftClient watcher;

  private volatile boolean closed;

  ReplicatedStore(ClusterOptions options, RaftNode node, RaftGroupId group, boolean ownsNode) {
    this.options = options;
    this.node = node;
    this.group = group;
    this.ownsNode = ownsNode;
    machine = node.machine(group);
    writes =
        new WriteGatherer(() -> node.newClient(group), options.requestTimeout().multipliedBy(2));
    barrier =
        new ReadBarrier(
            writes, machine, newRequest(), options.requestTimeout(), this::describeGroup);
  }

  /**
   * Starts a node. Returns when its own store is open; the group may still be electing a leader,
   * which calls wait for.
   *
   * @param options the options
   * @return the node
   * @throws StorageException if the log or the store cannot be opened, or the address is in use
   */
  public static ReplicatedStore open(ClusterOptions options) {
    RaftGroupId group = RaftNode.groupId(options.group());
    RaftNode node = new RaftNode(options, group, null);
    try {
      return new ReplicatedStore(options, node, group, true);
    } catch (RuntimeException | Error e) {
      node.close();
      throw e;
    }
  }

  /**
   * {@return the group as a store} Writes go through the log; reads are linearizable. Calls that
   * make no sense for a replica throw {@link UnsupportedOperationException}: bulk loads, restores,
   * versioned batches. Maintenance, statistics and backups are those of this node. Numbers of
   * snapshots and of changes are the same on all nodes, so a {@link KvStore#changes change feed}
   * can be continued on another node; polling one syncs the store of this node. Versions of entries
   * ({@link io.kvsep.EntryInfo#version}) are made from the value, because they must be equal on all
   * nodes: they do not grow, and reading one reads the value. Closing it does nothing; close this
   * node.
   */
  public KvStore store() {
    return store(Consistency.LINEARIZABLE);
  }

  /**
   * {@return as {@link #store()}, with reads of another consistency} Transactions begin on a state
   * of that consistency too, and are serializable with any.
   *
   * @param consistency of reads
   */
  public KvStore store(Consistency consistency) {
    return new ReplicatedKvStore(this, Objects.requireNonNull(consistency, "consistency"));
  }

  /**
   * Applies a batch atomically. Its keyspaces are those of any {@link #store}; they are found by
   * name.
   *
   * @param batch the writes
   * @return the index of the log, for {@link Consistency#stale} and {@link #await}
   * @throws ClusterException if the group did not answer in time
   * @throws io.kvsep.error.LimitExceededException if it is longer than {@link
   *     ClusterOptions.Builder#requestBytesMax}
   * @throws IllegalStateException if a keyspace was dropped; nothing was written
   */
  public long write(WriteBatch batch) {
    return submit(newRequest().addAll(Objects.requireNonNull(batch, "batch"))).index();
  }

  /**
   * Reads a key.
   *
   * @param key the key
   * @param consistency how new the state must be
   * @return a copy of the value, or null if the key is absent
   */
  public byte @Nullable [] get(byte[] key, Consistency consistency) {
    return store(consistency).get(key);
  }

  /**
   * {@return a fixed view of all keyspaces, of the store of this node} Close it.
   *
   * @param consistency how new the state must be
   */
  public Snapshot snapshot(Consistency consistency) {
    return store(consistency).snapshot();
  }

  /**
   * {@return a cursor over the entries that {@code scan} selects, of the store of this node}
   *
   * @param scan the entries
   * @param consistency how new the state must be
   */
  public KvCursor cursor(ScanOptions scan, Consistency consistency) {
    return store(consistency).cursor(scan);
  }

  /**
   * {@return the newest state of the store of this node, checked once for {@code consistency}} For
   * several reads that together need one check. The reads that follow see that state or later ones.
   *
   * @param consistency how new the state must be
   */
  public KvReader reader(Consistency consistency) {
    current(consistency);
    return store(Consistency.stale(0));
  }

  /**
   * As {@link KvStore#transact}: runs {@code work} on a linearizable state of this node and commits
   * it if what it read is still the same when it is applied. The comparison is of content: a value
   * that was replaced and put back counts as unchanged.
   *
   * @param <R> type of the result
   * @param work may run more than once
   * @return the result of {@code work}
   * @throws io.kvsep.error.ConflictException if every attempt met a conflict
   * @throws ClusterException if the group did not answer in time
   */
  public <R extends @Nullable Object> R transact(Function<Transaction, R> work) {
    return store().transact(work);
  }

  /** {@return the name of the leader as this node knows it} */
  public Optional<String> leader() {
    RaftPeerId leader = info().getLeaderId();
    return Optional.ofNullable(leader).map(RaftPeerId::toString);
  }

  /** {@return addresses of the members by their names, as this node knows them} */
  public Map<String, String> members() {
    Map<String, String> members = new TreeMap<>();
    for (RaftPeer peer : node.division(group).getRaftConf().getCurrentPeers()) {
      members.put(peer.getId().toString(), peer.getAddress());
    }
    return members;
  }

  /** {@return the role of this node} */
  public Role role() {
    DivisionInfo info = info();
    if (!info.isAlive() || !members().containsKey(options.nodeId())) {
      return Role.OUTSIDE;
    }
    return info.isLeader() ? Role.LEADER : info.isCandidate() ? Role.CANDIDATE : Role.FOLLOWER;
  }

  /** {@return the term that this node knows; it grows with every election} */
  public long term() {
    return info().getCurrentTerm();
  }

  /** {@return the index of the last entry that the store of this node has, -1 if none} */
  public long appliedIndex() {
    return machine.getLastAppliedTermIndex().getIndex();
  }

  /** {@return the index of the last entry that this node knows to be committed} */
  public long committedIndex() {
    return node.division(group).getRaftLog().getLastCommittedIndex();
  }

  /** Index up to which each member knows entries to be committed, as far as this node knows. */
  Map<String, Long> commitIndices() {
    Map<String, Long> indices = new TreeMap<>();
    for (CommitInfoProto info : node.division(group).getCommitInfos()) {
      indices.put(info.getServer().getId().toStringUtf8(), info.getCommitIndex());
    }
    return indices;
  }

  /** Number of members beside the leader that have an entry, as far as this node knows. */
  int copies(long index) {
    DivisionInfo info = info();
    if (info.isLeader()) {
      return (int) LongStream.of(info.getFollowerMatchIndices()).filter(i -> i >= index).count();
    }
    Map<String, Long> others = commitIndices();
    leader().ifPresent(others::remove);
    return (int) others.values().stream().filter(i -> i >= index).count();
  }

  /** A client that asks the leader about logs of others; it is closed with this node. */
  RaftClient watcher() {
    synchronized (watcherLock) {
      requireOpen();
      if (watcher == null) {
        watcher = node.newClient(group);
      }
      return watcher;
    }
  }

  private void closeWatcher() {
    synchronized (watcherLock) {
      if (watcher != null) {
        try {
          watcher.close();
        } catch (IOException e) {
          // It asks nothing any more.
        }
      }
    }
  }

  /**
   * Waits until the store of this node has an entry of the log.
   *
   * @param index the index, as {@link #write} returns it
   * @param timeout how long to wait
   * @return whether the store has it
   */
  public boolean await(long index, Duration timeout) {
    return barrier.awaitApplied(index, timeout);
  }

  /**
   * Adds a member, which must run with {@link ClusterOptions.Builder#joining}. Returns when it has
   * caught up. Adding a member again has no effect. Other changes of members may run.
   *
   * @param nodeId its name
   * @param address its address
   * @throws IllegalArgumentException if the address is none that {@link ClusterOptions} takes
   * @throws IllegalStateException if it is a member with another address, which must be removed
   *     first
   * @throws ClusterException if the group did not answer in time, or the node did not catch up. The
   *     call may be repeated
   */
  public void add(String nodeId, String address) {
    options.requireAddress(nodeId, address);
    changeMembers(
        peers -> {
          for (RaftPeer peer : peers) {
            if (isNamed(peer, nodeId)) {
              if (!peer.getAddress().equals(address)) {
                throw new IllegalStateException(
                    nodeId + " is a member with the address " + peer.getAddress());
              }
              return false;
            }
          }
          return peers.add(RaftNode.peer(nodeId, address));
        });
  }

  /**
   * Removes a member. It need not run. Removing it again has no effect. Other changes of members
   * may run.
   *
   * @param nodeId its name
   * @throws ClusterException if the group did not answer in time. The call may be repeated
   */
  public void remove(String nodeId) {
    changeMembers(peers -> peers.removeIf(peer -> isNamed(peer, nodeId)));
  }

  /**
   * Makes another member the leader. In a {@link ShardedStore} it also becomes the one that leads
   * the shard when it can.
   *
   * @param nodeId its name
   * @throws ClusterException if it did not become the leader in time
   */
  public void transferLeadership(String nodeId) {
    // Ratis passes leadership to the highest priority alone.
    changeMembers(
        peers -> {
          if (peers.stream().noneMatch(peer -> isNamed(peer, nodeId))) {
            return false;
          }
          boolean changes = false;
          for (int i = 0; i < peers.size(); i++) {
            int priority = isNamed(peers.get(i), nodeId) ? 1 : 0;
            if (peers.get(i).getPriority() > priority) {
              changes = true;
            }
            peers.set(i, RaftPeer.newBuilder(peers.get(i)).setPriority(priority).build());
          }
          return changes;
        });
    long millis = options.requestTimeout().toMillis();
    admin(client -> client.admin().transferLeadership(RaftPeerId.valueOf(nodeId), millis));
  }

  /**
   * Takes a snapshot of this node now, and deletes the log before it, except what {@link
   * ClusterOptions.Builder#preservedEntries} keeps.
   *
   * @return the index of the last entry in it
   * @throws ClusterException if there is none
   */
  public long takeSnapshot() {
    try {
      RaftClientReply reply =
          node.server()
              .snapshotManagement(
                  SnapshotManagementRequest.newCreate(
                      node.callers(),
                      node.self(),
                      group,
                      node.nextCall(),
                      options.requestTimeout().toMillis()));
      if (!reply.isSuccess()) {
        throw new IOException(reply.getException());
      }
      return reply.getLogIndex();
    } catch (IOException e) {
      throw new ClusterException("no snapshot was taken", e, false);
    }
  }

  /** {@return the name of this node} */
  public String nodeId() {
    return options.nodeId();
  }

  /**
   * Stops the node and closes its store. Calls that run fail. Idempotent.
   *
   * @throws io.kvsep.error.KvException if the store could not be closed without error
   */
  @Override
  public void close() {
    closed = true;
    writes.close();
    closeWatcher();
    if (ownsNode) {
      node.close();
    }
  }

  /** The index of the first entry of the log that is still there. */
  long firstLogIndex() {
    return node.division(group).getRaftLog().getStartIndex();
  }

  ClusterOptions options() {
    return options;
  }

  GroupStateMachine machine() {
    return machine;
  }

  RequestWriter newRequest() {
    return new RequestWriter(options.requestBytesMax());
  }

  /** The store of this node, when it is as new as {@code consistency} says. */
  GroupStore current(Consistency consistency) {
    requireOpen();
    if (consistency == Consistency.OF_CALL) {
      return CallScope.current(this);
    }
    if (consistency.isStale()) {
      if (consistency.minIndex() > 0
          && !barrier.awaitApplied(consistency.minIndex(), options.requestTimeout())) {
        throw new ClusterException(
            "index " + consistency.minIndex() + " is not applied", null, false);
      }
    } else if (waits(consistency)) {
      barrier.await();
    }
    return machine.live();
  }

  /** Whether reads of a consistency wait for the {@link #barrier}. */
  boolean waits(Consistency consistency) {
    return !consistency.isStale() && (consistency != Consistency.LEADER || !info().isLeaderReady());
  }

  ReadBarrier barrier() {
    return barrier;
  }

  /** Runs a read; once more if a received snapshot became the store meanwhile. */
  <R extends @Nullable Object> R read(Consistency consistency, Function<GroupStore, R> reader) {
    GroupStore store = current(consistency);
    while (true) {
      try {
        return reader.apply(store);
      } catch (StoreClosedException e) {
        requireOpen();
        GroupStore now = machine.live();
        if (now == store) {
          throw e;
        }
        store = now;
      }
    }
  }

  WriteGatherer.Outcome submit(RequestWriter request) {
    return submit(request.toBytes(), false);
  }

  /**
   * Waits until the group has applied a request. The answer is {@code OK} or {@code CONFLICT}.
   *
   * @param alone whether the request changes keyspaces
   */
  WriteGatherer.Outcome submit(byte[] request, boolean alone) {
    requireOpen();
    CompletableFuture<WriteGatherer.Outcome> submitted = writes.submit(request, alone);
    WriteGatherer.Outcome outcome;
    try {
      outcome = submitted.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof StateMachineException refused) {
        throw new ClusterException("the leader refused the request", refused, false);
      }
      throw new ClusterException(
          closed
              ? "the node was closed before the group answered"
              : "the group did not answer within "
                  + options.requestTimeout()
                  + "; "
                  + describeGroup(),
          e.getCause(),
          true);
    }
    CallScope.wrote(this, outcome.index());
    Answer answer = outcome.answer();
    switch (answer.status()) {
      case OK, CONFLICT -> {
        return outcome;
      }
      case NO_KEYSPACE ->
          throw new IllegalStateException("keyspace " + answer.text() + " was dropped");
      case NO_COUNTER -> throw new IllegalArgumentException("the value is not 8 bytes long");
      case OVERFLOW -> throw new ArithmeticException("the sum does not fit into 64 bits");
      case UNKNOWN -> throw new ClusterException("the answer was lost in a restart", null, true);
    }
    throw new IllegalStateException("status " + answer.status());
  }

  /** What to look at when the group does not answer. The leader may have stopped since. */
  private String describeGroup() {
    try {
      String leader = leader().map(name -> name + " as its leader").orElse("no leader");
      return "a majority of " + members() + " must run, this node knows " + leader;
    } catch (ClusterException e) {
      return "this node is closed";
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new StoreClosedException("the replicated store is closed");
    }
    Throwable failure = node.failure();
    if (failure != null) {
      throw new ClusterException("the node has stopped after an error", failure, false);
    }
  }

  private DivisionInfo info() {
    return node.division(group).getInfo();
  }

  private static boolean isNamed(RaftPeer peer, String nodeId) {
    return peer.getId().equals(RaftPeerId.valueOf(nodeId));
  }

  /**
   * Repeats the change on what another caller made of the members meanwhile.
   *
   * @param change of a copy of the members; false if there is nothing to change
   */
  private void changeMembers(Function<List<RaftPeer>, Boolean> change) {
    long end = System.nanoTime() + options.requestTimeout().toNanos();
    while (true) {
      // After it, this node knows the members that the leader knows.
      barrier.await();
      List<RaftPeer> current = List.copyOf(node.division(group).getRaftConf().getCurrentPeers());
      List<RaftPeer> wanted = new ArrayList<>(current);
      if (!change.apply(wanted)) {
        return;
      }
      SetConfigurationRequest.Arguments arguments =
          SetConfigurationRequest.Arguments.newBuilder()
              .setMode(SetConfigurationRequest.Mode.COMPARE_AND_SET)
              .setServersInCurrentConf(current)
              .setServersInNewConf(wanted)
              .build();
      try {
        admin(client -> client.admin().setConfiguration(arguments));
        return;
      } catch (ClusterException e) {
        if (!(e.getCause() instanceof SetConfigurationException) || System.nanoTime() - end > 0) {
          throw e;
        }
      }
    }
  }

  private interface AdminCall {
    RaftClientReply call(RaftClient client) throws IOException;
  }

  private void admin(AdminCall call) {
    requireOpen();
    try (RaftClient client = node.newAdminClient(group)) {
      RaftClientReply reply = call.call(client);
      if (!reply.isSuccess()) {
        throw new IOException(reply.getException());
      }
    } catch (IOException e) {
      throw new ClusterException("the group did not do it", e, true);
    }
  }
}
