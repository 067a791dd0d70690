package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyScanCursor;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanCursor;
import io.lettuce.core.TransactionResult;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.args.BitOP;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.params.ClientKillParams;
import redis.clients.jedis.params.LCSParams;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.resps.LCSMatchResult;
import redis.clients.jedis.resps.ScanResult;

/** The clients that people use, unmodified, in both versions of the protocol, with a token. */
final class ClientsTest {
  private static final String TOKEN = "secret";

  @TempDir Path directory;
  private RunningRedis redis;

  @BeforeEach
  void open() throws IOException {
    redis =
        RunningRedis.in(
            directory,
            java.time.Clock.systemUTC(),
            options -> RunningRedis.withToken(options, TOKEN));
  }

  @AfterEach
  void close() {
    redis.close();
  }

  @ParameterizedTest
  @EnumSource(
      value = RedisProtocol.class,
      names = {"RESP2", "RESP3"})
  void jedis(RedisProtocol protocol) {
    DefaultJedisClientConfig config =
        DefaultJedisClientConfig.builder()
            .password(TOKEN)
            .timeoutMillis(60_000)
            .clientName("jedis-test")
            .protocol(protocol)
            .database(2)
            .build();
    try (Jedis jedis = new Jedis(new HostAndPort("127.0.0.1", redis.port()), config)) {
      assertEquals("jedis-test", jedis.clientGetname());
      assertEquals("OK", jedis.set("a", "1", SetParams.setParams().nx().ex(100)));
      assertNull(jedis.set("a", "1", SetParams.setParams().nx()));
      assertEquals(2, jedis.incr("a"));
      assertTrue(jedis.ttl("a") > 90);
      assertEquals(2.5, jedis.incrByFloat("a", 0.5));
      jedis.mset("b", "2", "c", "3");
      assertEquals(List.of("2", "3"), jedis.mget("b", "c"));
      assertEquals(3, jedis.dbSize());
      assertEquals(Set.of("a", "b", "c"), scanned(jedis));
      pipelined(jedis);
      jedis.watch("b");
      AbstractTransaction transaction = jedis.multi();
      Response<Long> sum = transaction.incrBy("b", 40);
      assertEquals(1, transaction.exec().size());
      assertEquals(42, sum.get());
      byte[] binary = {0, 13, 10, (byte) 0xff};
      jedis.set(binary, binary);
      assertArrayEquals(binary, jedis.get(binary));
      assertTrue(jedis.info().contains("redis_version"));
      locksAndBits(jedis);
      jedis.flushDB();
      assertEquals(0, jedis.dbSize());
    }
  }

  private static void locksAndBits(Jedis jedis) {
    ProtocolCommand deleteIfEqual = () -> "DELIFEQ".getBytes(UTF_8);
    jedis.set("lock", "me");
    assertNull(jedis.sendCommand(Protocol.Command.SET, "lock", "you", "IFEQ", "other"));
    assertEquals(1L, jedis.sendCommand(deleteIfEqual, "lock", "me"));
    assertFalse(jedis.setbit("bits", 7, true));
    assertEquals(List.of(1L), jedis.bitfield("bits", "GET", "u8", "0"));
    assertEquals(7, jedis.bitpos("bits", true));
    assertEquals(1, jedis.bitop(BitOP.NOT, "bits", "bits"));
    assertEquals(7, jedis.bitcount("bits"));
    jedis.mset("a", "ohmytext", "b", "mynewtext");
    LCSMatchResult common = jedis.lcs("a", "b", LCSParams.LCSParams().idx());
    assertEquals(6, common.getLen());
    assertEquals(2, common.getMatches().size());
    assertEquals("embstr", jedis.objectEncoding("a"));
    assertEquals(1, jedis.move("a", 3));
    assertEquals("OK", jedis.swapDB(2, 3));
    assertEquals("ohmytext", jedis.get("a"));
    assertEquals("a", jedis.randomKey());
    assertTrue(jedis.info("keyspace").contains("db2:keys=1,"));
    assertEquals(0, jedis.clientKill(new ClientKillParams().id("1000000").user("default")));
  }

  private static Set<String> scanned(Jedis jedis) {
    Set<String> keys = new HashSet<>();
    String cursor = ScanParams.SCAN_POINTER_START;
    do {
      ScanResult<String> part = jedis.scan(cursor, new ScanParams().count(1));
      keys.addAll(part.getResult());
      cursor = part.getCursor();
    } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
    return keys;
  }

  private static void pipelined(Jedis jedis) {
    Pipeline pipeline = jedis.pipelined();
    List<Response<String>> values = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      pipeline.set("p" + i, "v" + i);
      values.add(pipeline.get("p" + i));
    }
    pipeline.sync();
    for (int i = 0; i < 500; i++) {
      assertEquals("v" + i, values.get(i).get());
    }
    for (int i = 0; i < 500; i++) {
      jedis.unlink("p" + i);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = ProtocolVersion.class,
      names = {"RESP2", "RESP3"})
  void lettuce(ProtocolVersion protocol) throws Exception {
    RedisURI uri =
        RedisURI.builder()
            .withHost("127.0.0.1")
            .withPort(redis.port())
            .withPassword(TOKEN.toCharArray())
            .withClientName("lettuce-test")
            .build();
    RedisClient client = RedisClient.create(uri);
    try {
      client.setOptions(ClientOptions.builder().protocolVersion(protocol).build());
      try (StatefulRedisConnection<String, String> connection = client.connect()) {
        RedisCommands<String, String> sync = connection.sync();
        assertEquals("lettuce-test", sync.clientGetname());
        assertEquals("OK", sync.set("a", "1"));
        assertEquals(2, sync.incr("a"));
        assertEquals("2", sync.get("a"));
        assertNull(sync.get("none"));
        assertTrue(sync.expire("a", 100));
        assertTrue(sync.pttl("a") > 90_000);
        KeyScanCursor<String> scan = sync.scan(ScanCursor.INITIAL, ScanArgs.Builder.matches("a*"));
        assertEquals(List.of("a"), scan.getKeys());
        assertEquals("OK", sync.multi());
        sync.set("b", "3");
        sync.append("b", "4");
        TransactionResult result = sync.exec();
        assertEquals(List.of("OK", 2L), List.of(result.get(0), result.get(1)));
        List<RedisFuture<Long>> sums = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
          sums.add(connection.async().incr("n"));
        }
        for (int i = 0; i < 1000; i++) {
          assertEquals(i + 1, sums.get(i).get(60, TimeUnit.SECONDS));
        }
        sync.select(7);
        assertEquals(0, sync.dbsize());
      }
    } finally {
      client.shutdown(0, 1, TimeUnit.SECONDS);
    }
  }

  @Test
  void whatClientsWriteIsInTheStore() {
    try (Jedis jedis =
        new Jedis(
            new HostAndPort("127.0.0.1", redis.port()),
            DefaultJedisClientConfig.builder().password(TOKEN).timeoutMillis(60_000).build())) {
      jedis.set("key", "value");
      assertArrayEquals("value".getBytes(UTF_8), redis.store.get("key".getBytes(UTF_8)));
      redis.store.put("other".getBytes(UTF_8), "theirs".getBytes(UTF_8));
      assertEquals("theirs", jedis.get("other"));
    }
  }
}
