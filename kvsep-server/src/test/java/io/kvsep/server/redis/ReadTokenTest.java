package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A connection that gave the token that only reads. */
final class ReadTokenTest {
  @TempDir Path directory;
  private RunningRedis redis;

  @BeforeEach
  void serve() throws IOException {
    redis =
        RunningRedis.in(
            directory,
            Clock.systemUTC(),
            options -> RunningRedis.withToken(options, "writer").withReadToken("reader"));
    redis.store.put("a".getBytes(UTF_8), "1".getBytes(UTF_8));
  }

  @AfterEach
  void close() {
    redis.close();
  }

  private RawClient reader() throws IOException {
    RawClient client = redis.connect();
    client.expect("AUTH reader", "+OK^");
    return client;
  }

  @Test
  void readsAreAnsweredAndWritesAreNot() throws IOException {
    try (RawClient client = reader()) {
      client.expect("GET a", "$1^1^");
      client.expect("MGET a b", "*2^$1^1^$-1^");
      client.expect("DBSIZE", ":1^");
      client.expect("KEYS *", "*1^$1^a^");
      client.expect("PING", "+PONG^");
      int writes = 0;
      for (Command command : new CommandTable().all()) {
        if (command.kind() == Command.Kind.WRITE && !command.name().equals("exec")) {
          writes++;
          int count = Math.abs(command.arity());
          // MSET takes pairs.
          String line = command.name() + " a".repeat(count - 1);
          assertEquals(
              "-NOPERM this token only reads, and may not run the '"
                  + command.name()
                  + "' command^",
              client.ask(line));
        }
      }
      assertTrue(writes > 20, () -> "commands");
      client.expect("GET a", "$1^1^");
      for (String kill : List.of("CLIENT KILL 127.0.0.1:1", "CLIENT KILL SKIPME NO")) {
        assertTrue(client.ask(kill).startsWith("-NOPERM "), kill);
      }
    }
    assertArrayEquals("1".getBytes(UTF_8), redis.store.get("a".getBytes(UTF_8)));
  }

  @Test
  void aTransactionOfReadsIsCarriedOutAndOneWithAWriteIsNot() throws IOException {
    try (RawClient client = reader()) {
      client.send("WATCH a^MULTI^GET a^EXEC^");
      assertEquals("+OK^", client.reply());
      assertEquals("+OK^", client.reply());
      assertEquals("+QUEUED^", client.reply());
      assertEquals("*1^$1^1^", client.reply());
      client.send("MULTI^GET a^SET a 2^EXEC^");
      assertEquals("+OK^", client.reply());
      assertEquals("+QUEUED^", client.reply());
      assertTrue(client.reply().startsWith("-NOPERM "));
      assertTrue(client.reply().startsWith("-EXECABORT "));
      client.expect("GET a", "$1^1^");
    }
  }

  /** Reading would make the keyspace. */
  @Test
  void aDatabaseThatThereIsNotIsEmptyAndNotMade() throws IOException {
    try (RawClient client = reader()) {
      client.expect("SELECT 5", "+OK^");
      client.expect("GET a", "$-1^");
      client.expect("SCAN 0", "*2^$1^0^*0^");
      client.expect("WATCH a", "+OK^");
      client.send("MULTI^SELECT 6^GET a^EXEC^");
      for (int i = 0; i < 3; i++) {
        client.reply();
      }
      assertEquals("*2^+OK^$-1^", client.reply());
    }
    assertEquals(List.of(), redis.store.keyspaces());
  }

  @Test
  void theTokenThatWasGivenLastCounts() throws IOException {
    try (RawClient client = reader()) {
      client.send("AUTH writer^SET a 2^AUTH reader^SET a 3^GET a^");
      assertEquals("+OK^", client.reply());
      assertEquals("+OK^", client.reply());
      assertEquals("+OK^", client.reply());
      assertTrue(client.reply().startsWith("-NOPERM "));
      assertEquals("$1^2^", client.reply());
      assertTrue(client.ask("AUTH other").startsWith("-WRONGPASS "));
      client.expect("RESET", "+RESET^");
      assertTrue(client.ask("GET a").startsWith("-NOAUTH "));
    }
  }

  @Test
  void aClientLibraryLogsInWithIt() {
    RedisURI uri =
        RedisURI.builder()
            .withHost("127.0.0.1")
            .withPort(redis.port())
            .withPassword("reader".toCharArray())
            .build();
    RedisClient client = RedisClient.create(uri);
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      assertEquals("1", connection.sync().get("a"));
      RedisCommandExecutionException refusal =
          assertThrows(RedisCommandExecutionException.class, () -> connection.sync().set("a", "2"));
      assertTrue(String.valueOf(refusal.getMessage()).startsWith("NOPERM "));
    } finally {
      client.shutdown();
    }
  }

  @Test
  void theTokenNeedsAnotherOneBesideIt() {
    RedisOptions none = RunningRedis.loopback();
    assertThrows(IllegalArgumentException.class, () -> none.withReadToken("reader"));
    RedisOptions some = RunningRedis.withToken(none, "writer");
    assertThrows(IllegalArgumentException.class, () -> some.withReadToken("writer"));
    assertThrows(IllegalArgumentException.class, () -> some.withReadToken(""));
  }
}
