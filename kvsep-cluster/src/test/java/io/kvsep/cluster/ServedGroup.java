package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.kvsep.server.cluster.ClusterNode;
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
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/** Three nodes, each behind an HTTP and a Redis server at free ports of loopback. */
final class ServedGroup implements AutoCloseable {
  private static final EventLoopGroup LOOPS = EventLoopGroups.newEventLoopGroup(2, "test", true);

  private final TestGroup group;
  private final Map<String, Server> servers = new TreeMap<>();
  private final Map<String, HttpFront> redirecting = new TreeMap<>();
  private final HttpClient client = HttpClient.newHttpClient();
  private final List<Jedis> clients = new ArrayList<>();

  private record Server(HttpFront http, RedisServer redis) implements AutoCloseable {
    @Override
    public void close() {
      redis.close();
      http.close();
    }
  }

  /** An answer over HTTP. */
  record Answer(int status, String body, Map<String, List<String>> headers) {
    String header(String name) {
      return Objects.requireNonNull(headers.get(name), name).get(0);
    }

    long index() {
      return Long.parseLong(header("kvsep-raft-index"));
    }

    Answer is(int expected) {
      assertEquals(expected, status, body);
      return this;
    }
  }

  ServedGroup(Path directory, Duration requestTimeout) throws IOException {
    // Servers take processors from the nodes, which must not take that for a dead leader.
    group =
        new TestGroup(
            directory,
            3,
            options ->
                options
                    .requestTimeout(requestTimeout)
                    .electionTimeout(Duration.ofMillis(400), Duration.ofMillis(800)));
    for (String name : List.of("a", "b", "c")) {
      serve(name);
    }
    group.leader();
  }

  private void serve(String name) throws IOException {
    ClusterNode node = served(name);
    HttpFront http = new HttpFront(node, HttpOptions.builder().build(), LOOPS);
    http.start();
    InetSocketAddress free = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    RedisServer redis = new RedisServer(node, RedisOptions.on(free, null), LOOPS);
    redis.start();
    servers.put(name, new Server(http, redis));
  }

  ClusterNode served(String name) {
    return new ServedNode("kvsep", group.node(name));
  }

  /** A server of a node that redirects clients to the leader's. */
  HttpFront redirecting(String name) {
    return redirecting.computeIfAbsent(name, this::newRedirecting);
  }

  private HttpFront newRedirecting(String name) {
    Map<String, String> addresses = new TreeMap<>();
    servers.forEach((node, server) -> addresses.put(node, address(server.http)));
    HttpOptions options = HttpOptions.builder().redirects(addresses).build();
    HttpFront front = new HttpFront(served(name), options, LOOPS);
    front.start();
    return front;
  }

  TestGroup group() {
    return group;
  }

  String leader() {
    return group.leader().nodeId();
  }

  List<String> followers() {
    String leader = leader();
    return servers.keySet().stream().filter(name -> !name.equals(leader)).toList();
  }

  /** What is asked of the node that leads. */
  interface OnLeader<R> {
    R call(String leader) throws Exception;
  }

  /** Repeats {@code work} if there was an election meanwhile, as there may be on a busy machine. */
  <R> R underOneLeader(OnLeader<R> work) throws Exception {
    List<String> leaders = new ArrayList<>();
    while (leaders.size() < 10) {
      String leader = leader();
      leaders.add(leader);
      R result = work.call(leader);
      if (leader.equals(leader())) {
        return result;
      }
    }
    throw new AssertionError("an election each time, of " + leaders);
  }

  static String address(HttpFront front) {
    return "http://127.0.0.1:" + front.address().getPort();
  }

  Answer get(String node, String path, String... headers) throws Exception {
    return ask(node, "GET", path, null, headers);
  }

  /** Sends a request and does not wait; completes with the status. */
  CompletableFuture<Integer> begin(String node, String path) {
    Server server = Objects.requireNonNull(servers.get(node), node);
    HttpRequest request = HttpRequest.newBuilder(URI.create(address(server.http) + path)).build();
    return client
        .sendAsync(request, BodyHandlers.discarding())
        .thenApply(answer -> answer.statusCode());
  }

  Answer put(String node, String path, String body, String... headers) throws Exception {
    return ask(node, "PUT", path, body, headers);
  }

  Answer post(String node, String path, String body) throws Exception {
    return ask(node, "POST", path, body);
  }

  Answer delete(String node, String path) throws Exception {
    return ask(node, "DELETE", path, null);
  }

  private Answer ask(
      String node, String method, String path, @Nullable String body, String... headers)
      throws Exception {
    Server server = Objects.requireNonNull(servers.get(node), node);
    return askAt(address(server.http) + path, method, body, headers);
  }

  Answer askAt(String url, String method, @Nullable String body, String... headers)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url))
            .timeout(Duration.ofSeconds(60))
            .method(
                method,
                body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body, UTF_8));
    if (headers.length > 0) {
      request.headers(headers);
    }
    var answer = client.send(request.build(), BodyHandlers.ofString(UTF_8));
    return new Answer(answer.statusCode(), answer.body(), answer.headers().map());
  }

  /** The id of the first event of a node's change feed that has the text. */
  String idOfChange(String node, String text) throws Exception {
    Server server = Objects.requireNonNull(servers.get(node), node);
    URI feed = URI.create(address(server.http) + "/v1/changes?after=0");
    HttpRequest request = HttpRequest.newBuilder(feed).timeout(Duration.ofSeconds(60)).build();
    var answer = client.send(request, BodyHandlers.ofLines());
    String id = "";
    try (Stream<String> lines = answer.body()) {
      for (Iterator<String> events = lines.iterator(); events.hasNext(); ) {
        String line = events.next();
        if (line.startsWith("id:")) {
          id = line;
        } else if (line.contains(text)) {
          return id;
        }
      }
    }
    throw new AssertionError("no such change");
  }

  /** A connection of its own, closed at the end. */
  Jedis redis(String node) {
    Server server = Objects.requireNonNull(servers.get(node), node);
    Jedis jedis = new Jedis("127.0.0.1", server.redis.address().getPort(), 60_000);
    clients.add(jedis);
    return jedis;
  }

  void stop(List<String> nodes) {
    TestGroup.closeAll(nodes.stream().map(servers::remove).map(Objects::requireNonNull).toList());
    nodes.forEach(group::stop);
  }

  @Override
  public void close() {
    clients.forEach(Jedis::close);
    List<AutoCloseable> all = new ArrayList<>(redirecting.values());
    all.addAll(servers.values());
    TestGroup.closeAll(all);
    group.close();
  }
}
