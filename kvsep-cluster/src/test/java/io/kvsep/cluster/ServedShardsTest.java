package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.server.cluster.ClusterSettings;
import io.kvsep.server.cluster.ClusterStatus;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;

/** HTTP and Redis clients of three nodes of four shards in this process. */
@Timeout(120)
final class ServedShardsTest {
  @TempDir static Path directory;

  private static ServedShards served;

  @BeforeAll
  static void start() throws Exception {
    served = new ServedShards(directory.resolve("shared"));
  }

  @AfterAll
  static void stop() {
    served.close();
  }

  @Test
  void keysOfAllShardsAreReadOnAllNodes() throws Exception {
    List<String> keys = served.keys("http-");
    for (int i = 0; i < keys.size(); i++) {
      String node = ServedShards.NAMES.get(i % 3);
      String reader = ServedShards.NAMES.get((i + 1) % 3);
      String path = "/v1/keys/" + keys.get(i);
      String index = served.ask(node, "PUT", path, "v" + i).is(204).header("kvsep-raft-index");
      int shard = served.store("a").indexOf(keys.get(i).getBytes(UTF_8));
      assertTrue(index.matches(shard + ":\\d+"), index);
      assertEquals("v" + i, served.ask(reader, "GET", path, null).is(200).body());
      assertEquals(
          "v" + i,
          served
              .ask(reader, "GET", path + "?consistency=stale", null, "Kvsep-Min-Index", index)
              .is(200)
              .body());
    }
    for (String wrong : List.of("7", "9:1", "x:1", "0:")) {
      served.ask("a", "GET", "/v1/keys/k", null, "Kvsep-Min-Index", wrong).is(400);
    }
    String several = served.ask("b", "GET", "/v1/scan", null).is(200).header("kvsep-raft-index");
    assertTrue(several.matches("0:\\d+,1:\\d+,2:\\d+,3:\\d+"), several);
    served.ask("c", "GET", "/v1/scan?consistency=stale", null, "Kvsep-Min-Index", several).is(200);
  }

  @Test
  void writesOverShardsAreRefusedAsAWhole() throws Exception {
    List<String> keys = served.keys("batch-");
    String batch = put(keys.get(0)) + "\n" + put(keys.get(1));
    assertTrue(post("/v1/batch", batch).is(409).body().contains(":cross-shard\""));
    post("/v1/batch", "{\"op\":\"deleteRange\",\"from\":\"batch-\",\"to\":\"batch.\"}").is(409);
    String transaction =
        "{\"checks\":[{\"key\":\"" + keys.get(0) + "\",\"absent\":true}],\"operations\":[%s]}";
    assertTrue(
        post("/v1/transaction", transaction.formatted(put(keys.get(0)) + "," + put(keys.get(1))))
            .is(409)
            .body()
            .contains(":cross-shard\""));
    for (String key : keys) {
      served.ask("a", "GET", "/v1/keys/" + key, null).is(404);
    }
    post("/v1/get", "{\"key\":\"" + keys.get(0) + "\"}\n{\"key\":\"" + keys.get(1) + "\"}").is(409);

    post("/v1/batch", put("{t}1") + "\n" + put("{t}2")).is(200);
    post("/v1/transaction", transaction.formatted(put(keys.get(0)))).is(200);
    post("/v1/transaction", transaction.formatted(put(keys.get(0)))).is(409);
    assertTrue(
        post("/v1/get", "{\"key\":\"{t}1\"}\n{\"key\":\"{t}2\"}").is(200).body().length() > 9);
    served.ask("b", "PUT", "/v1/keys/" + keys.get(2), "w", "If-None-Match", "*").is(201);
    served.ask("c", "PUT", "/v1/keys/" + keys.get(2), "w", "If-None-Match", "*").is(412);
    String counter = "{\"key\":\"" + keys.get(3) + "\",\"delta\":2}";
    post("/v1/increment", counter).is(200);
    assertEquals("{\"value\":4}", post("/v1/increment", counter).is(200).body());
  }

  private static String put(String key) {
    return "{\"op\":\"put\",\"key\":\"" + key + "\",\"value\":\"v\"}";
  }

  private static ServedGroup.Answer post(String path, String body) throws Exception {
    return served.ask("a", "POST", path, body);
  }

  @Test
  void aScanHasTheKeysOfAllShardsInOrder() throws Exception {
    Set<String> sorted = new TreeSet<>(served.keys("scan-"));
    served.ask("a", "PUT", "/v1/keyspaces/scanned", "").is(201);
    for (String key : sorted) {
      served.ask("b", "PUT", "/v1/keyspaces/scanned/keys/" + key, "v").is(204);
    }
    String path = "/v1/keyspaces/scanned/scan?keysOnly=true";
    assertEquals(List.copyOf(sorted), keysOf(served.ask("c", "GET", path, null).is(200).body()));
    List<String> reverse = new ArrayList<>(sorted);
    Collections.reverse(reverse);
    assertEquals(
        reverse.subList(0, 7),
        keysOf(served.ask("c", "GET", path + "&reverse=true&limit=7", null).is(200).body()));
    served.ask("c", "DELETE", "/v1/keyspaces/scanned", null).is(204);
    served.ask("a", "GET", path, null).is(404);
    served.ask("b", "GET", path, null).is(404);
  }

  private static List<String> keysOf(String lines) {
    return lines
        .lines()
        .filter(line -> line.startsWith("{\"key\":\""))
        .map(line -> line.substring(8, line.indexOf('"', 8)))
        .toList();
  }

  @Test
  void whatIsOfOneShardIsRefused() throws Exception {
    for (String path : List.of("/v1/changes", "/v1/changes?after=0")) {
      String body = served.ask("a", "GET", path, null).is(501).body();
      assertTrue(body.contains("is of one shard") || body.contains("sequence numbers"), body);
    }
    served.ask("a", "GET", "/v1/backup", null).is(400);
    served.ask("a", "GET", "/v1/backup?shard=4", null).is(400);
    served.ask("a", "GET", "/v1/backup?shard=3", null).is(200);
  }

  @Test
  void backupsOfAllShardsHaveEverything() throws Exception {
    List<String> keys = served.keys("backed-");
    for (String key : keys) {
      served.ask("a", "PUT", "/v1/keys/" + key, key).is(204);
    }
    try (KvStore restored = KvStore.inMemory()) {
      for (ReplicatedStore shard : served.store("b").shards()) {
        ByteArrayOutputStream backup = new ByteArrayOutputStream();
        shard.store().backup(backup, 0);
        try (KvStore one = KvStore.inMemory()) {
          one.restore(new ByteArrayInputStream(backup.toByteArray()));
          one.forEach(ScanOptions.all(), (key, value) -> restored.put(key, value));
        }
      }
      for (String key : keys) {
        assertArrayEquals(key.getBytes(UTF_8), restored.get(key.getBytes(UTF_8)), key);
      }
    }
  }

  @Test
  void statusAndMetricsHaveEachShard() throws Exception {
    ClusterStatus status = served.served("b").status();
    assertEquals(4, status.groups().size());
    String body = served.ask("b", "GET", "/v1/cluster", null).is(200).body();
    for (int shard = 0; shard < 4; shard++) {
      assertTrue(body.contains("{\"shard\":" + shard + ",\"leader\":\""), body);
    }
    String metrics = served.ask("b", "GET", "/metrics", null).is(200).body();
    assertTrue(metrics.contains("kvsep_cluster_term{shard=\"3\"} "), metrics);
    assertTrue(metrics.contains("kvsep_cluster_leader{shard=\"1\"} "), metrics);
    served.ask("b", "GET", "/v1/stats", null).is(200);
    served.ask("b", "GET", "/health", null).is(200);
    String snapshots = served.ask("b", "POST", "/v1/cluster/snapshot", "").is(200).body();
    assertTrue(
        snapshots.matches("\\{\"groups\":\\[(\\{\"shard\":\\d,\"index\":\\d+}(, )?){4}]}"),
        snapshots);
  }

  @Test
  void redisClientsOfOneServerSeeAllShards() {
    List<String> keys = served.keys("redis-");
    try (Jedis first = redis("a");
        Jedis second = redis("b")) {
      Pipeline pipeline = first.pipelined();
      List<Response<String>> replies = new ArrayList<>();
      for (String key : keys) {
        pipeline.set(key, "v");
        replies.add(pipeline.get(key));
      }
      pipeline.sync();
      replies.forEach(reply -> assertEquals("v", reply.get()));
      keys.forEach(key -> assertEquals("v", second.get(key)));
      String[] two = {keys.get(0), keys.get(1)};
      assertCrosses(() -> first.mget(two));
      assertCrosses(() -> first.del(two));
      assertCrosses(() -> first.mset(two[0], "x", two[1], "x"));
      assertCrosses(() -> first.rename(two[0], two[1]));
      assertEquals("v", second.get(two[0]));
      assertEquals("OK", first.mset("{r}1", "1", "{r}2", "2"));
      assertEquals(List.of("1", "2"), second.mget("{r}1", "{r}2"));
      assertEquals(2, first.del("{r}1", "{r}2"));

      Set<String> found = new TreeSet<>();
      String cursor = ScanParams.SCAN_POINTER_START;
      do {
        ScanResult<String> part = second.scan(cursor, new ScanParams().match("redis-*").count(7));
        found.addAll(part.getResult());
        cursor = part.getCursor();
      } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
      assertEquals(new TreeSet<>(keys), found);
      assertTrue(first.info("cluster").contains("kvsep_shards:4"));
      assertTrue(first.waitReplicas(1, 10_000) >= 1);
    }
  }

  @Test
  void aTransactionIsOfOneShard() {
    List<String> keys = served.keys("multi-");
    try (Jedis client = redis("b");
        Jedis other = redis("c")) {
      Transaction crossing = client.multi();
      crossing.set(keys.get(0), "x");
      crossing.set(keys.get(1), "x");
      assertThrows(JedisDataException.class, crossing::exec);
      assertNull(other.get(keys.get(0)));

      client.watch(keys.get(1));
      Transaction watching = client.multi();
      watching.set(keys.get(0), "x");
      assertCrosses(watching::exec);
      assertNull(other.get(keys.get(0)));

      client.watch("{m}1");
      other.set("{m}1", "changed");
      Transaction late = client.multi();
      late.set("{m}2", "x");
      assertNull(late.exec());
      Transaction good = client.multi();
      good.set("{m}2", "x");
      good.incr("{m}3");
      assertEquals(List.of("OK", 1L), good.exec());
    }
  }

  @Test
  void clearsADatabase() {
    List<String> keys = served.keys("clear-");
    try (Jedis client = redis("c")) {
      client.select(5);
      Pipeline pipeline = client.pipelined();
      keys.forEach(key -> pipeline.set(key, "v"));
      Response<Object> cleared = pipeline.sendCommand(Protocol.Command.FLUSHDB, new String[0]);
      pipeline.set(keys.get(3), "w");
      pipeline.sync();
      assertArrayEquals("OK".getBytes(UTF_8), (byte[]) cleared.get());
      assertEquals(1, client.dbSize());
      assertEquals("w", client.get(keys.get(3)));
      assertCrosses(() -> client.swapDB(5, 6));
      Transaction transaction = client.multi();
      transaction.sendCommand(Protocol.Command.FLUSHDB, new String[0]);
      assertCrosses(transaction::exec);
      assertEquals(1, client.dbSize());
    }
  }

  @Test
  void countersOfAllShardsCountEachCall() throws Exception {
    List<String> keys = served.keys("count-").subList(0, 8);
    ExecutorService threads = Executors.newFixedThreadPool(6);
    try {
      List<Future<?>> runs = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        String node = ServedShards.NAMES.get(i % 3);
        runs.add(
            threads.submit(
                () -> {
                  try (Jedis client = redis(node)) {
                    Pipeline pipeline = client.pipelined();
                    keys.forEach(pipeline::incr);
                    keys.forEach(pipeline::incr);
                    pipeline.sync();
                  }
                }));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    } finally {
      threads.shutdown();
    }
    try (Jedis client = redis("a")) {
      for (String key : keys) {
        assertEquals("12", client.get(key), key);
      }
    }
  }

  @Test
  void jedisClusterClientsUseAllShards() {
    try (var jedis =
        redis.clients.jedis.RedisClusterClient.builder()
            .nodes(Set.of(new HostAndPort("127.0.0.1", served.redisPort("a"))))
            .maxTotalRetriesDuration(Duration.ofSeconds(20))
            .build()) {
      assertEquals(3, jedis.getClusterNodes().size());
      for (int i = 0; i < 60; i++) {
        assertEquals("OK", jedis.set("jedis" + i, "v" + i));
      }
      for (int i = 0; i < 60; i++) {
        assertEquals("v" + i, jedis.get("jedis" + i));
      }
      assertEquals("OK", jedis.mset("{j}1", "1", "{j}2", "2"));
      assertEquals(List.of("1", "2"), jedis.mget("{j}1", "{j}2"));
      assertEquals(1, jedis.incr("jedis-count"));
    }
  }

  @Test
  void lettuceClusterClientsUseAllShards() {
    RedisClusterClient client =
        RedisClusterClient.create(
            RedisURI.builder()
                .withHost("127.0.0.1")
                .withPort(served.redisPort("c"))
                .withTimeout(Duration.ofSeconds(60))
                .build());
    try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
      assertEquals(3, client.getPartitions().size());
      for (int i = 0; i < 60; i++) {
        assertEquals("OK", connection.sync().set("lettuce" + i, "v" + i));
      }
      for (int i = 0; i < 60; i++) {
        assertEquals("v" + i, connection.sync().get("lettuce" + i));
      }
      // The client divides it by slots.
      assertEquals("OK", connection.sync().mset(Map.of("l1", "1", "l2", "2", "l3", "3")));
      assertEquals(3, connection.sync().del("l1", "l2", "l3"));
    } finally {
      client.shutdown(0, 5, TimeUnit.SECONDS);
    }
  }

  @Test
  void membersAndLeadersChangeInAllShards() throws Exception {
    try (ServedShards own = new ServedShards(directory.resolve("members"))) {
      List<String> keys = own.keys("k");
      for (String key : keys) {
        own.ask("b", "PUT", "/v1/keys/" + key, "v").is(204);
      }
      own.startJoining("d");
      String member = "{\"node\":\"d\",\"address\":\"" + own.address("d") + "\"}";
      own.ask("b", "POST", "/v1/cluster/members", member).is(200);
      own.ask("b", "POST", "/v1/cluster/members", member).is(200);
      own.ask("b", "DELETE", "/v1/cluster/members/a", null).is(200);
      own.stop("a");
      for (String key : keys) {
        assertEquals("v", own.ask("d", "GET", "/v1/keys/" + key, null).is(200).body());
      }
      own.ask("c", "POST", "/v1/cluster/leader", "{\"node\":\"d\"}").is(200);
      for (int shard = 0; shard < ServedShards.SHARDS; shard++) {
        own.awaitLeader(shard, "d");
      }
      own.ask("c", "POST", "/v1/cluster/leader", "{\"node\":\"c\",\"shard\":2}").is(200);
      own.awaitLeader(2, "c");
      own.ask("c", "POST", "/v1/cluster/leader", "{\"node\":\"c\",\"shard\":4}").is(400);
      own.ask("c", "POST", "/v1/cluster/leader", "{\"node\":\"a\"}").is(404);
      own.ask("b", "PUT", "/v1/keys/" + keys.get(0), "w").is(204);
      assertEquals("w", own.ask("d", "GET", "/v1/keys/" + keys.get(0), null).is(200).body());
    }
  }

  @Test
  void theNumberOfShardsIsFixed() throws Exception {
    Path own = directory.resolve("fixed");
    Map<String, String> peers = TestGroup.freeAddresses(List.of("a"));
    ServedNodes nodes = new ServedNodes();
    nodes.open(settings(peers, own), 2).close();
    for (int other : List.of(1, 3)) {
      IllegalArgumentException refusal =
          assertThrows(
              IllegalArgumentException.class, () -> nodes.open(settings(peers, own), other));
      assertTrue(refusal.toString().contains("has 2, not " + other), refusal.toString());
    }
    nodes.open(settings(peers, own), 2).close();
    Path single = directory.resolve("single");
    nodes.open(settings(peers, single), 1).close();
    assertThrows(IllegalArgumentException.class, () -> nodes.open(settings(peers, single), 2));
    assertFalse(single.resolve(ShardCount.FILE).toFile().exists());
  }

  private static ClusterSettings settings(Map<String, String> peers, Path own) {
    return new ClusterSettings("shop", "a", peers, false, false, null, own);
  }

  private static void assertCrosses(Executable call) {
    JedisDataException refusal = assertThrows(JedisDataException.class, call);
    assertTrue(refusal.toString().contains(": CROSSSLOT "), refusal.toString());
  }

  private static Jedis redis(String node) {
    return new Jedis("127.0.0.1", served.redisPort(node), 60_000);
  }
}
