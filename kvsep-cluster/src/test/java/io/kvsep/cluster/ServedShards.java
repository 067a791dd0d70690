package io.kvsep.cluster;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.kvsep.KvResources;
import io.kvsep.server.http.HttpFront;
import io.kvsep.server.http.HttpOptions;
import io.kvsep.server.redis.RedisOptions;
import io.kvsep.server.redis.RedisServer;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Three nodes of four shards, each behind an HTTP and a Redis server at free ports of loopback. */
final class ServedShards implements AutoCloseable {
  static final int SHARDS = 4;
  static final List<String> NAMES = List.of("a", "b", "c");

  private static final EventLoopGroup LOOPS = EventLoopGroups.newEventLoopGroup(2, "test", true);

  private final Path directory;
  private final Map<String, String> addresses;
  private final Map<String, String> redisAddresses;
  private final Map<String, Node> nodes = new TreeMap<>();
  private final HttpClient client = HttpClient.newHttpClient();

  private record Node(ShardedStore store, ServedNode served, HttpFront http, RedisServer redis)
      implements AutoCloseable {
    @Override
    public void close() {
      redis.close();
      http.close();
      served.close();
    }
  }

  ServedShards(Path directory) throws IOException {
    this.directory = directory;
    addresses = TestGroup.freeAddresses(List.of("a", "b", "c", "d"));
    redisAddresses = TestGroup.freeAddresses(List.of("a", "b", "c", "d"));
    Map<String, String> first = new TreeMap<>(addresses);
    first.remove("d");
    for (String name : NAMES) {
      start(name, first, /* joining= */ false);
    }
    for (int shard = 0; shard < SHARDS; shard++) {
      awaitLeader(shard, NAMES.get(shard % NAMES.size()));
    }
  }

  private void start(String name, Map<String, String> peers, boolean joining) throws IOException {
    KvResources resources = KvResources.builder().memoryBudgetBytes(32 << 20).build();
    ClusterOptions options =
        TestGroup.options(name, peers, directory.resolve(name))
            // Servers take processors from the nodes, which must not take that for a dead leader.
            .electionTimeout(Duration.ofMillis(400), Duration.ofMillis(800))
            .store(store -> {})
            .joining(joining)
            .build();
    ShardedStore store = ShardedStore.open(options, SHARDS, resources);
    ServedNode served = new ServedNode("kvsep", store, resources::close);
    HttpFront http = new HttpFront(served, HttpOptions.builder().build(), LOOPS);
    http.start();
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), redisPort(name));
    RedisServer redis =
        new RedisServer(served, RedisOptions.on(address, null).withPeers(redisAddresses), LOOPS);
    redis.start();
    nodes.put(name, new Node(store, served, http, redis));
  }

  /** A node that is no member yet. */
  void startJoining(String name) throws IOException {
    start(name, addresses, /* joining= */ true);
  }

  void stop(String name) {
    Objects.requireNonNull(nodes.remove(name)).close();
  }

  void awaitLeader(int shard, String name) {
    TestGroup.await(() -> store(name).shard(shard).role() == Role.LEADER);
  }

  private Node node(String name) {
    return Objects.requireNonNull(nodes.get(name), name);
  }

  ShardedStore store(String name) {
    return node(name).store;
  }

  ServedNode served(String name) {
    return node(name).served;
  }

  String address(String name) {
    return Objects.requireNonNull(addresses.get(name));
  }

  int redisPort(String name) {
    String address = Objects.requireNonNull(redisAddresses.get(name));
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /** Keys of a prefix, at least one of each shard, the first two of different shards. */
  List<String> keys(String prefix) {
    ShardedStore store = store("a");
    List<String> keys = new ArrayList<>();
    for (int i = 0; keys.size() < 20; i++) {
      String key = prefix + i;
      int shard = store.indexOf(key.getBytes(StandardCharsets.UTF_8));
      if (keys.size() >= SHARDS || shard == keys.size()) {
        keys.add(key);
      }
    }
    return keys;
  }

  ServedGroup.Answer ask(
      String node, String method, String path, @Nullable String body, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(ServedGroup.address(node(node).http) + path))
            .timeout(Duration.ofSeconds(60))
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    var answer = client.send(request.build(), BodyHandlers.ofString());
    return new ServedGroup.Answer(answer.statusCode(), answer.body(), answer.headers().map());
  }

  @Override
  public void close() {
    TestGroup.closeAll(nodes.values());
  }
}
