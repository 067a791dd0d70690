package io.kvsep.cluster;

import io.kvsep.Durability;
import io.kvsep.KvStore;
import io.kvsep.error.StorageException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.apache.ratis.RaftConfigKeys;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.client.retry.RequestTypeDependentRetryPolicy;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.grpc.GrpcTlsConfig;
import org.apache.ratis.proto.RaftProtos.RaftClientRequestProto.TypeCase;
import org.apache.ratis.proto.RaftProtos.ServerRpcProto;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.GroupManagementRequest;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.SnapshotManagementRequest;
import org.apache.ratis.retry.RetryPolicies;
import org.apache.ratis.retry.RetryPolicy;
import org.apache.ratis.server.DivisionInfo;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.jspecify.annotations.Nullable;

/** The server of this process in one or more groups. Thread safe. */
final class RaftNode implements AutoCloseable {
  private static final long MIB = 1 << 20;

  /** While a follower needs the log, it may grow so many times as long before a snapshot. */
  private static final int LOG_GROWTH_MAX = 16;

  /** Ratis holds some 130 bytes in the heap for each entry of its log. */
  private static final int LOG_ENTRIES_MAX = 250_000;

  /** What may be under way to a follower, where each message may have the longest request. */
  private static final long APPENDS_BYTES_MAX = 32 * MIB;

  /** A follower that lacks fewer entries is not behind. */
  private static final int LAG_MIN = 1_000;

  /** A file in the directory of a node that was no member when it first started. */
  private static final String JOINS = "joins";

  private final ClusterOptions options;
  private final RaftProperties properties;
  private final Parameters parameters = new Parameters();
  private final Map<RaftGroupId, GroupStateMachine> machines = new ConcurrentHashMap<>();
  private final AtomicLong calls = new AtomicLong();
  private final ClientId callers = ClientId.randomId();
  private final AtomicBoolean closing = new AtomicBoolean();

  /** Whether a group without a known configuration has other members than the options say. */
  private final boolean joins;

  /** Null until it has started, which entries of the log may be applied before. */
  private volatile @Nullable RaftServer server;

  private volatile @Nullable Throwable failure;

  /**
   * Starts the server with its first group, which is new if this is its first start.
   *
   * @param preferred the node that leads that group when it can, null for any
   */
  RaftNode(ClusterOptions options, RaftGroupId first, @Nullable String preferred) {
    this.options = options;
    properties = properties(options);
    ClusterOptions.Tls tls = options.tls();
    if (tls != null) {
      GrpcTlsConfig config =
          new GrpcTlsConfig(
              tls.privateKey().toFile(),
              tls.certificateChain().toFile(),
              tls.trusted().toFile(),
              /* mTlsEnabled= */ true);
      GrpcConfigKeys.TLS.setConf(parameters, config);
    }
    boolean exists = Files.exists(options.directory().resolve(first.getUuid().toString()));
    joins = joins(options, exists);
    server = start(first, exists, preferred);
  }

  /** A node that was not added yet is no member either when it is started again as one. */
  private static boolean joins(ClusterOptions options, boolean exists) {
    Path mark = options.directory().resolve(JOINS);
    try {
      Files.createDirectories(options.directory());
      if (options.isJoining() && !exists && !Files.exists(mark)) {
        Files.createFile(mark);
        GroupStorage.syncNames(options.directory());
      }
    } catch (IOException e) {
      throw new StorageException(
          "cannot start node " + options.nodeId() + ": " + e.getMessage(), e);
    }
    return options.isJoining() || Files.exists(mark);
  }

  private RaftServer start(RaftGroupId first, boolean exists, @Nullable String preferred) {
    RaftServer built = null;
    try {
      built =
          RaftServer.newBuilder()
              .setServerId(self())
              .setGroup(initialGroup(first, preferred))
              .setStateMachineRegistry(this::machine)
              .setProperties(properties)
              .setParameters(parameters)
              .setOption(
                  exists ? RaftStorage.StartupOption.RECOVER : RaftStorage.StartupOption.FORMAT)
              .build();
      built.start();
      return built;
    } catch (IOException | RuntimeException e) {
      StorageException failed =
          new StorageException("cannot start node " + options.nodeId() + ": " + e.getMessage(), e);
      if (built != null) {
        try {
          built.close();
        } catch (IOException | RuntimeException suppressed) {
          failed.addSuppressed(suppressed);
        }
      }
      throw failed;
    }
  }

  static RaftGroupId groupId(String name) {
    return RaftGroupId.valueOf(
        UUID.nameUUIDFromBytes(("kvsep:" + name).getBytes(StandardCharsets.UTF_8)));
  }

  RaftPeerId self() {
    return RaftPeerId.valueOf(options.nodeId());
  }

  RaftServer server() {
    RaftServer started = server;
    if (started == null) {
      throw new IllegalStateException("the node has not started");
    }
    return started;
  }

  @Nullable Throwable failure() {
    return failure;
  }

  GroupStateMachine machine(RaftGroupId group) {
    return machines.computeIfAbsent(group, id -> new GroupStateMachine(new GroupHost(id)));
  }

  RaftServer.Division division(RaftGroupId group) {
    try {
      return server().getDivision(group);
    } catch (IOException e) {
      throw new ClusterException("the node is not in the group", e, false);
    }
  }

  /**
   * Adds another group, unless the server has it from an earlier start. One that never had a leader
   * is started again: Ratis has forgotten its first members.
   */
  void addGroup(RaftGroupId group, @Nullable String preferred) {
    boolean exists = false;
    for (RaftGroupId present : server().getGroupIds()) {
      exists |= present.equals(group);
    }
    try {
      if (exists) {
        if (joins || !division(group).getRaftConf().getCurrentPeers().isEmpty()) {
          return;
        }
        manage(
            GroupManagementRequest.newRemove(
                callers, self(), nextCall(), group, /* deleteDirectory= */ false, false));
        machines.remove(group);
      }
      manage(
          GroupManagementRequest.newAdd(
              callers, self(), nextCall(), initialGroup(group, preferred), /* format= */ !exists));
    } catch (IOException e) {
      throw new StorageException("cannot add a group", e);
    }
  }

  private void manage(GroupManagementRequest request) throws IOException {
    RaftClientReply reply = server().groupManagement(request);
    if (!reply.isSuccess()) {
      throw new IOException(reply.getException());
    }
  }

  /** A client that writes, and asks another node when one is silent. */
  RaftClient newClient(RaftGroupId group) {
    Duration silence = options.electionTimeoutMax().multipliedBy(2);
    Duration least = Duration.ofSeconds(2);
    // There must be time for a second node.
    Duration most = options.requestTimeout().dividedBy(2);
    Duration wanted = silence.compareTo(least) < 0 ? least : silence;
    return newClient(group, wanted.compareTo(most) < 0 ? wanted : most);
  }

  /** A client for calls that take long, such as a change of members. */
  RaftClient newAdminClient(RaftGroupId group) {
    return newClient(group, options.requestTimeout());
  }

  /** It repeats its calls until the leader answers or time is up. */
  private RaftClient newClient(RaftGroupId group, Duration answerTimeout) {
    RaftProperties properties = new RaftProperties(this.properties);
    RaftClientConfigKeys.Rpc.setRequestTimeout(properties, duration(answerTimeout));
    TimeDuration pause = duration(retryPause());
    long tries = Math.max(1, options.requestTimeout().toMillis() / retryPause().toMillis());
    return RaftClient.newBuilder()
        .setProperties(properties)
        .setParameters(parameters)
        .setRaftGroup(RaftGroup.valueOf(group, currentPeers(group)))
        // Else it begins with the last leader that answered this process, which may be silent now.
        .setLeaderId(division(group).getInfo().getLeaderId())
        .setRetryPolicy(
            untilTimeout(
                RetryPolicies.retryUpToMaximumCountWithFixedSleep(
                    (int) Math.min(Integer.MAX_VALUE, tries), pause)))
        .build();
  }

  /**
   * A silent node takes much longer than a pause, so the tries alone are no limit: a call could go
   * on when the nodes have forgotten its first try, and apply it again.
   */
  private RetryPolicy untilTimeout(RetryPolicy tries) {
    RequestTypeDependentRetryPolicy.Builder policy = RequestTypeDependentRetryPolicy.newBuilder();
    for (TypeCase type : TypeCase.values()) {
      policy.setRetryPolicy(type, tries).setTimeout(type, duration(options.requestTimeout()));
    }
    return policy.build();
  }

  /** About how long an election needs at least. */
  Duration retryPause() {
    return Duration.ofMillis(Math.max(10, options.electionTimeoutMin().toMillis() / 10));
  }

  ClientId callers() {
    return callers;
  }

  long nextCall() {
    return calls.incrementAndGet();
  }

  static RaftPeer peer(String id, String address) {
    return RaftPeer.newBuilder().setId(id).setAddress(address).build();
  }

  @Override
  public void close() {
    RaftServer started = server;
    if (started != null && closing.compareAndSet(false, true)) {
      try {
        started.close();
      } catch (IOException e) {
        throw new StorageException("closing node " + options.nodeId(), e);
      }
    }
  }

  /**
   * The first members, which may be gone, and those that were added. The log has addresses as the
   * leader sees them, so those of the options count first.
   */
  private List<RaftPeer> currentPeers(RaftGroupId group) {
    List<RaftPeer> known = new ArrayList<>(peers(null));
    for (RaftPeer member : division(group).getRaftConf().getCurrentPeers()) {
      if (!options.peers().containsKey(member.getId().toString())) {
        known.add(member);
      }
    }
    return known;
  }

  private List<RaftPeer> peers(@Nullable String preferred) {
    return options.peers().entrySet().stream()
        .map(
            entry ->
                RaftPeer.newBuilder()
                    .setId(entry.getKey())
                    .setAddress(entry.getValue())
                    .setPriority(entry.getKey().equals(preferred) ? 1 : 0)
                    .build())
        .toList();
  }

  /** A node that joins must not start an election before it is a member. */
  private RaftGroup initialGroup(RaftGroupId group, @Nullable String preferred) {
    return RaftGroup.valueOf(group, joins ? List.of() : peers(preferred));
  }

  private static TimeDuration duration(Duration duration) {
    return TimeDuration.valueOf(duration.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Ratis' defaults take 200 MB and more for each group, and hold that all hosts may connect. */
  private static RaftProperties properties(ClusterOptions options) {
    RaftProperties properties = new RaftProperties();
    RaftConfigKeys.Rpc.setType(properties, new SnapshotRpc());
    GrpcConfigKeys.Server.setHost(properties, options.address().getHost());
    GrpcConfigKeys.Server.setPort(properties, options.address().getPort());
    setLog(options, properties);

    TimeDuration min = duration(options.electionTimeoutMin());
    TimeDuration max = duration(options.electionTimeoutMax());
    RaftServerConfigKeys.Rpc.setTimeoutMin(properties, min);
    RaftServerConfigKeys.Rpc.setTimeoutMax(properties, max);
    RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMin(properties, min);
    RaftServerConfigKeys.Rpc.setFirstElectionTimeoutMax(properties, max);

    // Longer than any call is repeated, with the answer that its last try waits for.
    long remembered = Math.max(60_000, 4 * options.requestTimeout().toMillis());
    RaftServerConfigKeys.RetryCache.setExpiryTime(
        properties, TimeDuration.valueOf(remembered, TimeUnit.MILLISECONDS));
    RaftClientConfigKeys.Async.setOutstandingRequestsMax(properties, 2 * WriteGatherer.FLIGHTS_MAX);
    return properties;
  }

  private static void setLog(ClusterOptions options, RaftProperties properties) {
    RaftServerConfigKeys.setStorageDir(properties, List.of(options.directory().toFile()));
    RaftServerConfigKeys.setRemovedGroupsDir(
        properties, options.directory().resolve("removed").toFile());
    // The buffer must hold one entry with its header, or the server does not start.
    long entryBytes = options.requestBytesMax() + MIB;
    RaftServerConfigKeys.Log.Appender.setBufferByteLimit(
        properties, SizeInBytes.valueOf(entryBytes));
    RaftServerConfigKeys.Log.setWriteBufferSize(properties, SizeInBytes.valueOf(entryBytes + MIB));
    RaftServerConfigKeys.Log.setSegmentSizeMax(properties, SizeInBytes.valueOf(2 * entryBytes));
    RaftServerConfigKeys.Log.setPreallocatedSize(properties, SizeInBytes.valueOf(MIB));
    // The segment that grows and another one are in the heap, and as much that waits for the disk.
    RaftServerConfigKeys.Log.setSegmentCacheNumMax(properties, 1);
    RaftServerConfigKeys.Log.setSegmentCacheSizeMax(
        properties, SizeInBytes.valueOf(4 * entryBytes));
    RaftServerConfigKeys.Log.setQueueByteLimit(properties, SizeInBytes.valueOf(4 * entryBytes));
    GrpcConfigKeys.Server.setLeaderOutstandingAppendsMax(
        properties, (int) Math.max(2, Math.min(8, APPENDS_BYTES_MAX / entryBytes)));
    // Its entries would make every commit wait until the store has caught up.
    RaftServerConfigKeys.Log.setLogMetadataEnabled(properties, false);
    RaftServerConfigKeys.Log.setPurgeUptoSnapshotIndex(properties, true);
    RaftServerConfigKeys.Log.setPurgeGap(properties, 1);
    RaftServerConfigKeys.Log.setPurgePreservationLogNum(properties, options.preservedEntries());
    GrpcConfigKeys.setMessageSizeMax(properties, SizeInBytes.valueOf(2 * entryBytes + 4 * MIB));

    // Snapshots are triggered by bytes, not by the number of entries.
    RaftServerConfigKeys.Snapshot.setAutoTriggerEnabled(properties, false);
    RaftServerConfigKeys.Snapshot.setRetentionFileNum(properties, 2);
    RaftServerConfigKeys.Snapshot.setCreationGap(properties, 1);
    RaftServerConfigKeys.Log.Appender.setSnapshotChunkSizeMax(
        properties, SizeInBytes.valueOf(4 * MIB));
  }

  /**
   * Whether a log of so many bytes and entries since the last snapshot needs the next.
   *
   * @param limit of bytes
   * @param isFollowerBehind asked only if that decides
   */
  static boolean isSnapshotDue(
      long bytes, long entries, long limit, BooleanSupplier isFollowerBehind) {
    return entries >= LOG_ENTRIES_MAX
        || bytes / LOG_GROWTH_MAX >= limit
        || (bytes >= limit && !isFollowerBehind.getAsBoolean());
  }

  /** What the machine of a group needs of this node. */
  private final class GroupHost implements GroupStateMachine.Host {
    private final RaftGroupId group;
    private final AtomicBoolean snapshotRequested = new AtomicBoolean();

    GroupHost(RaftGroupId group) {
      this.group = group;
    }

    @Override
    public GroupClock newClock() {
      return new GroupClock(options.clock());
    }

    @Override
    public KvStore open(Path directory, GroupClock clock) {
      return KvStore.open(
          directory,
          options
              .storeOptions()
              .durability(Durability.none())
              .clock(clock)
              .readOnly(false)
              .createIfMissing(true)
              .exclusive(false)
              .build());
    }

    @Override
    public void logGrew(long bytes, long entries) {
      RaftServer started = server;
      if (started == null
          || !isSnapshotDue(bytes, entries, options.snapshotLogBytes(), this::isFollowerBehind)
          || !snapshotRequested.compareAndSet(false, true)) {
        return;
      }
      var unused =
          started
              .snapshotManagementAsync(
                  SnapshotManagementRequest.newCreate(
                      callers, self(), group, nextCall(), options.requestTimeout().toMillis()))
              .whenComplete((reply, e) -> snapshotRequested.set(false));
    }

    /**
     * Whether a follower that answers lacks more entries than a snapshot would leave, such as one
     * that is receiving a snapshot. After the next one it would have to receive that, and so on.
     */
    private boolean isFollowerBehind() {
      DivisionInfo info;
      try {
        info = division(group).getInfo();
      } catch (ClusterException e) {
        return false;
      }
      long[] next = info.getFollowerNextIndices();
      if (next == null) {
        return false;
      }
      List<ServerRpcProto> followers =
          info.getRoleInfoProto().getLeaderInfo().getFollowerInfoList();
      long left = info.getLastAppliedIndex() - Math.max(LAG_MIN, options.preservedEntries());
      for (int i = 0; i < Math.min(next.length, followers.size()); i++) {
        if (next[i] <= left
            && followers.get(i).getLastRpcElapsedTimeMs() < options.requestTimeout().toMillis()) {
          return true;
        }
      }
      return false;
    }

    /** In a thread of its own, because closing waits for the thread that failed. */
    @Override
    public void failed(Throwable cause) {
      failure = cause;
      Thread closer = new Thread(RaftNode.this::close, "cluster-close");
      closer.setDaemon(true);
      closer.start();
      Thread releaser = new Thread(this::release, "cluster-release");
      releaser.setDaemon(true);
      releaser.start();
    }

    /** A leader that is ready would pass the error on to clients, as if nothing was written. */
    private void release() {
      while (isLeaderReady()) {
        LockSupport.parkNanos(10_000_000);
      }
      machine(group).release();
    }

    private boolean isLeaderReady() {
      try {
        return server != null && division(group).getInfo().isLeaderReady();
      } catch (ClusterException e) {
        return false;
      }
    }
  }
}
