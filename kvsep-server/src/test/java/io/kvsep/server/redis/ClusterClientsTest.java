package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.cluster.ClusterStatus;
import io.kvsep.server.cluster.LogPosition;
import io.lettuce.core.ReadFrom;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisProtocol;

/** Clients of Redis Cluster, unmodified, with three servers that share a store as nodes do. */
final class ClusterClientsTest {
  private static final List<String> NAMES = List.of("a", "b", "c");

  private final KvStore store = KvStore.inMemory();
  private final Map<String, String> addresses = new TreeMap<>();
  private final Map<String, RedisServer> servers = new TreeMap<>();
  private final List<@Nullable String> leaders = new ArrayList<>(List.of("b"));
  private EventLoopGroup loops;

  /** A node whose store always has everything. */
  private record Node(
      String nodeId, KvStore store, Map<String, String> addresses, List<@Nullable String> leaders)
      implements ClusterNode {
    @Override
    public String cluster() {
      return "shop";
    }

    @Override
    public Call begin(Reads reads, LogPosition least) {
      return new Call() {
        @Override
        public LogPosition written() {
          return LogPosition.of(1);
        }

        @Override
        public LogPosition position() {
          return LogPosition.of(1);
        }

        @Override
        public void close() {}
      };
    }

    @Override
    public Call resume(LogPosition seen) {
      return begin(Reads.LINEARIZABLE, seen);
    }

    @Override
    public boolean hasApplied(LogPosition position) {
      return true;
    }

    @Override
    public @Nullable String leader(int shard) {
      return leaders.get(shard);
    }

    @Override
    public int awaitCopies(LogPosition position, int wanted, Duration timeout) {
      return wanted;
    }

    @Override
    public @Nullable String unavailable(Throwable failure) {
      return null;
    }

    @Override
    public ClusterStatus status() {
      List<ClusterStatus.Group> groups = new ArrayList<>();
      for (String leader : leaders) {
        long applied = 9L + groups.size();
        List<ClusterStatus.Member> members =
            addresses.keySet().stream()
                .map(name -> new ClusterStatus.Member(name, name + ":7101", null, applied))
                .toList();
        groups.add(new ClusterStatus.Group(groups.size(), leader, 7, 1, null, members));
      }
      return new ClusterStatus("shop", nodeId, groups);
    }

    @Override
    public ClusterStatus.Group status(int shard) {
      return status().groups().get(shard);
    }

    @Override
    public void add(String node, String address) {
      throw new AssertionError();
    }

    @Override
    public void remove(String node) {
      throw new AssertionError();
    }

    @Override
    public void transferLeadership(String node, int shard) {
      throw new AssertionError();
    }

    @Override
    public long takeSnapshot(int shard) {
      throw new AssertionError();
    }

    @Override
    public void close() {}
  }

  @BeforeEach
  void serve() throws IOException {
    loops =
        new MultiThreadIoEventLoopGroup(
            2, Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
    for (String name : NAMES) {
      try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        addresses.put(name, "127.0.0.1:" + free.getLocalPort());
      }
    }
    for (String name : NAMES) {
      InetSocketAddress address =
          new InetSocketAddress(InetAddress.getLoopbackAddress(), port(name));
      RedisOptions options = RedisOptions.on(address, null).withPeers(addresses);
      RedisServer server =
          new RedisServer(new Node(name, store, addresses, leaders), options, loops);
      servers.put(name, server);
      server.start();
    }
  }

  @AfterEach
  void close() {
    servers.values().forEach(RedisServer::close);
    store.close();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  private int port(String name) {
    String address = String.valueOf(addresses.get(name));
    return Integer.parseInt(address.substring(address.indexOf(':') + 1));
  }

  private void loseLeader() {
    String leader = String.valueOf(leaders.get(0));
    String next = leader.equals("b") ? "c" : "b";
    leaders.set(0, next);
    Objects.requireNonNull(servers.get(leader)).close();
  }

  @ParameterizedTest
  @EnumSource(
      value = RedisProtocol.class,
      names = {"RESP2", "RESP3"})
  void jedisFindsAllNodesAndOutlivesTheLeader(RedisProtocol protocol) {
    DefaultJedisClientConfig config =
        DefaultJedisClientConfig.builder().protocol(protocol).timeoutMillis(60_000).build();
    try (var jedis =
        redis.clients.jedis.RedisClusterClient.builder()
            .nodes(Set.of(new HostAndPort("127.0.0.1", port("a"))))
            .clientConfig(config)
            .maxTotalRetriesDuration(Duration.ofSeconds(2))
            .build()) {
      assertEquals(Set.copyOf(addresses.values()), jedis.getClusterNodes().keySet());
      for (int i = 0; i < 50; i++) {
        assertEquals("OK", jedis.set("key" + i, "value" + i));
      }
      assertEquals("OK", jedis.mset("{x}1", "1", "{x}2", "2"));
      loseLeader();
      for (int i = 0; i < 50; i++) {
        assertEquals("value" + i, jedis.get("key" + i));
      }
      assertEquals(List.of("1", "2"), jedis.mget("{x}1", "{x}2"));
    }
  }

  @Test
  void lettuceFindsAllNodesAndOutlivesTheLeader() {
    RedisClusterClient client =
        RedisClusterClient.create(RedisURI.create("redis://127.0.0.1:" + port("c")));
    try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
      assertEquals(
          Map.of("a", true, "b", false, "c", true),
          NAMES.stream().collect(Collectors.toMap(name -> name, name -> isReplica(client, name))));
      for (int i = 0; i < 50; i++) {
        assertEquals("OK", connection.sync().set("key" + i, "value" + i));
      }
      connection.setReadFrom(ReadFrom.REPLICA);
      assertEquals("value7", connection.sync().get("key7"));
      connection.setReadFrom(ReadFrom.UPSTREAM);
      loseLeader();
      client.refreshPartitions();
      for (int i = 0; i < 50; i++) {
        assertEquals("value" + i, connection.sync().get("key" + i));
      }
    } finally {
      client.shutdown(0, 5, TimeUnit.SECONDS);
    }
  }

  private boolean isReplica(RedisClusterClient client, String name) {
    RedisClusterNode node = client.getPartitions().getPartition("127.0.0.1", port(name));
    return node.is(RedisClusterNode.NodeFlag.REPLICA);
  }

  private String ask(String node, String command) throws IOException {
    try (RawClient client = new RawClient(port(node))) {
      return client.ask(command);
    }
  }

  @Test
  void shardsDivideTheSlots() throws IOException {
    leaders.set(0, "a");
    leaders.add("b");
    leaders.add(null);

    String slots = ask("a", "CLUSTER SLOTS");
    assertTrue(slots.startsWith("*3^*5^:0^:5461^*4^$9^127.0.0.1^:" + port("a") + "^$40^"), slots);
    assertTrue(slots.contains("*5^:5462^:10922^*4^$9^127.0.0.1^:" + port("b") + "^$40^"), slots);
    // Without a leader, the node that is asked takes the commands.
    String other = ask("c", "CLUSTER SLOTS");
    assertTrue(other.contains("*5^:10923^:16383^*4^$9^127.0.0.1^:" + port("c") + "^$40^"), other);
    String shards = ask("a", "CLUSTER SHARDS");
    assertTrue(shards.startsWith("*3^*4^$5^slots^*2^:0^:5461^$5^nodes^*3^*14^$2^id^"), shards);
    assertTrue(shards.contains("*2^:10923^:16383^"), shards);
    String nodes = ask("a", "CLUSTER NODES");
    String id = ask("a", "CLUSTER MYID").split("\\^", -1)[1];
    assertTrue(
        nodes.contains(
            id
                + " 127.0.0.1:"
                + port("a")
                + "@"
                + port("a")
                + " myself,master - 0 0 7 connected 0-5461 10923-16383"),
        nodes);
    assertTrue(nodes.contains(" slave " + id + " 0 0 7 connected"), nodes);
    String info = ask("c", "CLUSTER INFO");
    assertTrue(info.contains("cluster_state:fail") && info.contains("slots_ok:10923"), info);
    leaders.set(2, "c");
    assertTrue(ask("c", "CLUSTER INFO").contains("cluster_state:ok"));
    assertEquals(id, ask("a", "CLUSTER MYID").split("\\^", -1)[1]);
  }

  @ParameterizedTest
  @ValueSource(strings = {"CLUSTER SLOTS", "cluster nodes", "CLUSTER MYID"})
  void aServerWithoutPeersHasNoTopology(String command) throws IOException {
    RedisOptions options = RunningRedis.loopback();
    for (RedisServer server :
        List.of(
            new RedisServer(store, options, loops),
            new RedisServer(new Node("a", store, addresses, leaders), options, loops))) {
      try (server) {
        server.start();
        try (RawClient client = new RawClient(server.address().getPort())) {
          client.expect(command, "-ERR This instance has cluster support disabled^");
          assertTrue(client.ask("INFO server").contains("redis_mode:standalone"));
        }
      }
    }
    assertTrue(ask("a", "INFO server").contains("redis_mode:cluster"));
  }
}
