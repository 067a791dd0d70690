package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.SetParams;

/**
 * HTTP and Redis clients of three nodes in this process. A test that hangs is told with its stack:
 * sockets and futures are not interrupted.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ServedNodeTest {
  private static final List<String> ALL = List.of("a", "b", "c");

  @TempDir static Path directory;

  private static ServedGroup served;

  @BeforeAll
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  static void start() throws Exception {
    served = new ServedGroup(directory.resolve("shared"), Duration.ofSeconds(20));
  }

  @AfterAll
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  static void stop() {
    served.close();
  }

  @Test
  void whatOneNodeWroteIsReadOnAllWithTheSameTag() throws Exception {
    String follower = served.followers().get(0);
    ServedGroup.Answer put = served.put(follower, "/v1/keys/k", "first").is(204);
    String min = Long.toString(put.index());
    for (String node : ALL) {
      for (String query : List.of("", "?consistency=stale", "?consistency=leader")) {
        ServedGroup.Answer got =
            served.get(node, "/v1/keys/k" + query, "Kvsep-Min-Index", min).is(200);
        assertEquals("first", got.body());
        assertEquals(put.header("etag"), got.header("etag"));
        assertTrue(got.index() >= put.index(), "read behind the write");
      }
    }
    String other = served.followers().get(1);
    String tag = put.header("etag");
    served.put(other, "/v1/keys/k", "second", "If-Match", tag).is(204);
    served.put(follower, "/v1/keys/k", "third", "If-Match", tag).is(412);
    assertEquals("second", served.get(follower, "/v1/keys/k").is(200).body());
    served.get(follower, "/v1/keys/absent?consistency=stale").is(404).index();
    served.get(follower, "/v1/keys/k?consistency=new").is(400);
    served.get(follower, "/v1/keys/k?limit=1").is(400);
    served.get(follower, "/v1/keys/k", "Kvsep-Min-Index", "x").is(400);
    assertTrue(
        served
            .get(other, "/v1/scan?consistency=stale&prefix=k", "Kvsep-Min-Index", min)
            .is(200)
            .body()
            .contains("\"key\":\"k\""));
  }

  @Test
  void oneOfManyCreatesAKey() throws Exception {
    List<Integer> statuses = new ArrayList<>();
    for (ServedGroup.Answer answer :
        onAll(node -> served.put(node, "/v1/keys/one", node, "If-None-Match", "*"))) {
      statuses.add(answer.status());
    }
    statuses.sort(null);
    assertEquals(List.of(201, 412, 412), statuses);
  }

  /** A thread may use two nodes of one process. */
  @Test
  void aCallNotesTheWritesOfItsNodeAlone() {
    ReplicatedStore own = served.group().node("a");
    ReplicatedStore other = served.group().node("b");
    try (CallScope scope = CallScope.begin(own, Consistency.LINEARIZABLE, 0)) {
      other.store().put("other".getBytes(UTF_8), "v".getBytes(UTF_8));
      assertEquals(-1, scope.written(0));
      own.store().put("own".getBytes(UTF_8), "v".getBytes(UTF_8));
      assertTrue(scope.written(0) >= 0);
    }
  }

  @Test
  void aKeyspaceThatAnotherNodeDroppedIsGone() throws Exception {
    served.put("a", "/v1/keyspaces/s", "").is(201);
    served.put("b", "/v1/keyspaces/s/keys/k", "v").is(204);
    assertEquals("v", served.get("c", "/v1/keyspaces/s/keys/k").is(200).body());
    served.delete("a", "/v1/keyspaces/s").is(204);
    served.get("b", "/v1/keyspaces/s/keys/k").is(404);
    served.get("c", "/v1/keyspaces/s/keys/k").is(404);
    String counter = "{\"key\":\"n\",\"delta\":2}";
    served.post("a", "/v1/increment", counter).is(200);
    assertEquals("{\"value\":4}", served.post("b", "/v1/increment", counter).is(200).body());
  }

  @Test
  void clientsAreRedirectedToTheLeader() throws Exception {
    ServedGroup.Answer put = askRedirecting(false, "PUT", "/v1/keys/redirected").is(307);
    assertTrue(put.header("location").endsWith("/v1/keys/redirected"));
    served.askAt(put.header("location"), "PUT", "v").is(204);
    askRedirecting(false, "GET", "/v1/keys/redirected").is(307);
    askRedirecting(false, "GET", "/v1/stats").is(200);
    askRedirecting(true, "GET", "/v1/keys/redirected").is(200);
    ServedGroup.Answer stale =
        askRedirecting(false, "GET", "/v1/keys/redirected?consistency=stale");
    assertTrue(Set.of(200, 404).contains(stale.status()), stale.body());
  }

  private static ServedGroup.Answer askRedirecting(boolean ofLeader, String method, String path)
      throws Exception {
    return served.underOneLeader(
        leader -> {
          String node = ofLeader ? leader : leader.equals("a") ? "b" : "a";
          String url = ServedGroup.address(served.redirecting(node)) + path;
          return served.askAt(url, method, method.equals("PUT") ? "v" : null);
        });
  }

  @Test
  void statusIsInFiguresAndMetrics() throws Exception {
    String status =
        served.underOneLeader(
            leader -> {
              String told = "\"leader\":\"" + leader + "\",\"term\":";
              // A follower hears of its leader with the first entry or heartbeat.
              String body = served.get("b", "/v1/cluster").is(200).body();
              for (int i = 0; i < 50 && !body.contains(told); i++) {
                served.get("b", "/v1/keys/any");
                body = served.get("b", "/v1/cluster").is(200).body();
              }
              assertTrue(body.contains(told) || !leader.equals(served.leader()), body);
              return body;
            });
    assertTrue(status.startsWith("{\"cluster\":\"kvsep\",\"node\":\"b\""), status);
    assertTrue(status.contains("\"role\":\"FOLLOWER\",\"appliedIndex\":"), status);
    assertTrue(served.get("b", "/v1/stats").is(200).body().contains("\"cluster\":{\"cluster\":"));
    assertTrue(served.get("b", "/metrics").is(200).body().contains("kvsep_cluster_term "));
  }

  @Test
  void feedsOfAllNodesHaveTheSameNumbers() throws Exception {
    served.put("a", "/v1/keys/fed", "v").is(204);
    Set<String> ids = new HashSet<>();
    for (String node : ALL) {
      ids.add(served.idOfChange(node, "\"key\":\"fed\""));
    }
    assertEquals(1, ids.size(), ids::toString);
  }

  @Test
  void redisClientsSeeOneStore() throws Exception {
    Jedis first = served.redis(served.followers().get(0));
    Jedis second = served.redis(served.followers().get(1));
    assertEquals("OK", first.set("r", "1"));
    assertEquals("1", second.get("r"));
    first.select(3);
    first.set("r", "in 3");
    second.select(3);
    assertEquals("in 3", second.get("r"));

    List<Long> sums = new ArrayList<>();
    for (List<Long> some :
        onAll(
            node -> {
              Jedis client = served.redis(node);
              return List.of(client.incr("count"), client.incr("count"), client.incr("count"));
            })) {
      sums.addAll(some);
    }
    sums.sort(null);
    assertEquals(List.of(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L), sums);

    List<String> winners =
        onAll(node -> String.valueOf(served.redis(node).set("lock", node, new SetParams().nx())));
    assertEquals(1, winners.stream().filter("OK"::equals).count(), winners::toString);
  }

  @Test
  void watchedKeysOfOtherNodesStopATransaction() {
    Jedis first = served.redis(served.followers().get(0));
    Jedis second = served.redis(served.followers().get(1));
    first.set("watched", "1");
    first.watch("watched");
    second.set("watched", "2");
    Transaction transaction = first.multi();
    transaction.set("watched", "3");
    assertNull(transaction.exec());
    assertEquals("2", second.get("watched"));
  }

  @Test
  void readOnlyConnectionsReadWhatTheNodeHas() {
    String follower = served.followers().get(0);
    Jedis client = served.redis(follower);
    client.set("stale", "1");
    command(client, "READONLY");
    long before = served.group().node(follower).appliedIndex();
    for (int i = 0; i < 50; i++) {
      assertEquals("1", client.get("stale"), "its own write");
    }
    assertTrue(
        served.group().node(follower).appliedIndex() < before + 50, "reads put entries in the log");
    client.set("stale", "2");
    assertEquals("2", client.get("stale"), "its own write");
    command(client, "READWRITE");
    assertEquals("2", client.get("stale"));
  }

  @Test
  void readsThatCameTogetherWaitOnce() {
    String follower = served.followers().get(0);
    Jedis client = served.redis(follower);
    client.set("together", "1");
    long before = served.group().node(follower).appliedIndex();
    Pipeline pipeline = client.pipelined();
    for (int i = 0; i < 200; i++) {
      pipeline.get("together");
    }
    assertEquals(200, pipeline.syncAndReturnAll().size());
    assertTrue(served.group().node(follower).appliedIndex() < before + 100);
  }

  @Test
  void waitCountsOtherNodes() {
    for (String node : ALL) {
      Jedis client = served.redis(node);
      client.set("waited", node);
      assertEquals(2, client.waitReplicas(2, 20_000), node);
      assertTrue(client.waitReplicas(5, 1) >= 1, node);
    }
  }

  @Test
  void membersChangeOverHttp() throws Exception {
    try (ServedGroup own = new ServedGroup(directory.resolve("members"), Duration.ofSeconds(20))) {
      String follower = own.followers().get(0);
      own.put(follower, "/v1/keys/k", "v").is(204);
      ReplicatedStore joined = own.group().startJoining("d");
      String member = "{\"node\":\"d\",\"address\":\"" + own.group().address("d") + "\"}";
      assertEquals("{}", own.post(follower, "/v1/cluster/members", member).is(200).body());
      own.post(follower, "/v1/cluster/members", member).is(200);
      assertTrue(own.get(follower, "/v1/cluster").body().contains("\"node\":\"d\""));
      assertEquals("v", new String(joined.get(bytes("k"), Consistency.LINEARIZABLE), UTF_8));
      String index = own.post(follower, "/v1/cluster/snapshot", "").is(200).body();
      assertTrue(index.matches("\\{\"index\":\\d+}"), index);
      own.delete(follower, "/v1/cluster/members/d").is(200);
      own.delete(follower, "/v1/cluster/members/d").is(200);
      own.post(follower, "/v1/cluster/leader", "{\"node\":\"" + follower + "\"}").is(200);
      TestGroup.await(() -> own.leader().equals(follower));
      own.post(follower, "/v1/cluster/leader", "{\"name\":\"b\"}").is(400);
      own.post(follower, "/v1/cluster/leader", "{\"node\":\"d\"}").is(404);
      own.post(follower, "/v1/cluster/members", "{\"node\":\"d\",\"address\":\"x\"}").is(400);
    }
  }

  @Test
  void withoutAMajorityThereAreOnlyStaleReads() throws Exception {
    try (ServedGroup own = new ServedGroup(directory.resolve("alone"), Duration.ofSeconds(2))) {
      String left = own.leader();
      ServedGroup.Answer put = own.put(left, "/v1/keys/k", "v").is(204);
      own.stop(own.followers());
      Jedis client = own.redis(left);
      ExecutorService threads = Executors.newFixedThreadPool(3);
      try {
        Future<ServedGroup.Answer> read = threads.submit(() -> own.get(left, "/v1/keys/k"));
        Future<ServedGroup.Answer> write = threads.submit(() -> own.put(left, "/v1/keys/k", "w"));
        Future<JedisDataException> set =
            threads.submit(
                () -> assertThrows(JedisDataException.class, () -> client.set("k", "w")));
        assertEquals("1", read.get().is(503).header("retry-after"));
        assertTrue(write.get().is(503).body().contains("may have been carried out"));
        assertTrue(set.get().toString().contains(" CLUSTERDOWN "), set.get().toString());
      } finally {
        threads.shutdown();
      }
      String min = Long.toString(put.index());
      assertEquals(
          "v",
          own.get(left, "/v1/keys/k?consistency=stale", "Kvsep-Min-Index", min).is(200).body());
      command(client, "READONLY");
      assertEquals("v", client.get("k"));
      own.get(left, "/health").is(200);
    }
  }

  @Test
  void readsThatWaitForTheGroupTakeNoThread() throws Exception {
    try (ServedGroup own = new ServedGroup(directory.resolve("waiting"), Duration.ofSeconds(10))) {
      String left = own.leader();
      own.put(left, "/v1/keys/k", "v").is(204);
      own.stop(own.followers());
      int more = 100;
      List<CompletableFuture<Integer>> waiting = new ArrayList<>();
      for (int i = 0; i < more; i++) {
        waiting.add(own.begin(left, "/v1/keys/k"));
      }
      Pattern open = Pattern.compile("\"openRequests\":(\\d+)");
      String stats;
      Matcher requests;
      do {
        stats = own.get(left, "/v1/stats").is(200).body();
        requests = open.matcher(stats);
        assertTrue(requests.find(), stats);
      } while (Integer.parseInt(requests.group(1)) < more);
      // It takes one of the server's threads, which are fewer.
      own.get(left, "/v1/scan?consistency=stale").is(200);
      for (CompletableFuture<Integer> read : waiting) {
        assertFalse(read.isDone());
      }
      for (CompletableFuture<Integer> read : waiting) {
        assertEquals(503, read.get());
      }
    }
  }

  private interface OnNode<R> {
    R call(String node) throws Exception;
  }

  /** Runs on all nodes at once. */
  private static <R> List<R> onAll(OnNode<R> work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(ALL.size());
    try {
      List<Callable<R>> calls = new ArrayList<>();
      for (String node : ALL) {
        calls.add(() -> work.call(node));
      }
      List<R> results = new ArrayList<>();
      for (Future<R> future : threads.invokeAll(calls)) {
        results.add(future.get());
      }
      return results;
    } finally {
      threads.shutdown();
    }
  }

  private static void command(Jedis client, String name) {
    client.sendCommand(() -> name.getBytes(UTF_8));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
