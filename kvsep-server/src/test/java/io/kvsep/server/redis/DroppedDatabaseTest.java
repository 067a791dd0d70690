package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Databases whose keyspace another user of the store drops. */
final class DroppedDatabaseTest {
  @TempDir Path directory;
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory);
    client = redis.connect();
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    redis.close();
  }

  private void all(String... linesAndReplies) throws IOException {
    for (int i = 0; i < linesAndReplies.length; i += 2) {
      client.expect(linesAndReplies[i], linesAndReplies[i + 1]);
    }
  }

  /** Each of these is the first that the server hears of it. */
  @Test
  void aDatabaseThatWasDroppedIsAnEmptyOne() throws IOException {
    all("SELECT 5", "+OK^");
    String[] linesAndReplies = {
      "GET a", "$-1^",
      "MGET a b", "*2^$-1^$-1^",
      "SCAN 0", "*2^$1^0^*0^",
      "RANDOMKEY", "$-1^",
      "KEYS *", "*0^",
      "DBSIZE", ":0^",
      "SET a 2", "+OK^",
      "INCR a", ":1^",
      "SETNX a 2", ":1^",
      "FLUSHDB", "+OK^",
      "FLUSHALL", "+OK^",
    };
    for (int i = 0; i < linesAndReplies.length; i += 2) {
      all("SET a 1", "+OK^");
      drop();
      all(linesAndReplies[i], linesAndReplies[i + 1]);
    }
    all("SET a 1", "+OK^", "MULTI", "+OK^", "INCR a", "+QUEUED^", "GET a", "+QUEUED^");
    drop();
    all("EXEC", "*2^:1^$1^1^", "WATCH a", "+OK^", "MULTI", "+OK^", "SET a 2", "+QUEUED^");
    drop();
    all("EXEC", "*-1^", "EXISTS a", ":0^", "SET a 1", "+OK^");
    drop();
    client.send("GET a^SET a 2^GET a^SELECT 0^SET a 0^INCR a^SELECT 5^INCR a^GET a^");
    for (String reply : "$-1^ +OK^ $1^2^ +OK^ +OK^ :1^ +OK^ :3^ $1^3^".split(" ", -1)) {
      assertEquals(reply, client.reply());
    }
  }

  private void drop() {
    redis.store.dropKeyspace(redis.store.keyspace("db5"));
  }
}
