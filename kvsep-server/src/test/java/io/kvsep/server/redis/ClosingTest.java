package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The end of a server, and stores that refuse. */
final class ClosingTest {
  @TempDir Path directory;

  @Test
  void commandsThatWereReadAreAnsweredBeforeTheEnd() throws IOException {
    RunningRedis redis = RunningRedis.in(directory);
    int port = redis.port();
    try (RawClient client = redis.connect();
        RawClient idle = redis.connect()) {
      idle.send("*2^$3^GET^$100^half");
      client.send("INCR n^".repeat(100));
      assertEquals(":1^", client.reply());

      redis.close();

      int answered = 1;
      try {
        while (client.reply().equals(":" + (answered + 1) + "^")) {
          answered++;
        }
      } catch (IOException e) {
        // The end of what was read before the server ended.
        assertTrue(answered >= 1);
      }
      assertTrue(idle.isEnded());
      assertThrows(IOException.class, () -> new RawClient(port).close());
      try (KvStore store = KvStore.open(directory)) {
        assertArrayEquals(
            Integer.toString(answered).getBytes(UTF_8), store.get("n".getBytes(UTF_8)));
      }
    }
  }

  @Test
  void closingTwiceDoesNothing() throws IOException {
    try (RunningRedis redis = RunningRedis.in(directory)) {
      redis.server.close();
      redis.server.close();
      assertThrows(IllegalStateException.class, redis.server::start);
    }
  }

  @Test
  void aStoreForReadingOnlyRefusesWrites() throws IOException {
    try (KvStore store = KvStore.open(directory)) {
      store.put("a".getBytes(UTF_8), "1".getBytes(UTF_8));
    }
    try (RunningRedis redis =
            RunningRedis.in(
                directory, KvOptions.builder().readOnly(true).build(), options -> options);
        RawClient client = redis.connect()) {
      String refusal = "-READONLY the store is open for reading only^";
      client.expect("GET a", "$1^1^");
      client.expect("SET a 2", refusal);
      client.expect("INCR a", refusal);
      client.send("SET a 2^INCR a^GET a^SET b 3^");
      assertEquals(refusal, client.reply());
      assertEquals(refusal, client.reply());
      assertEquals("$1^1^", client.reply());
      assertEquals(refusal, client.reply());
    }
  }

  @Test
  void aStoreThatIsClosedUnderTheServerIsAnError() throws IOException {
    try (RunningRedis redis = RunningRedis.in(directory);
        RawClient client = redis.connect()) {
      client.expect("SET a 1", "+OK^");
      redis.store.close();
      client.expect("SET a 2", "-ERR the store is closed^");
      client.expect("GET a", "-ERR the store is closed^");
      client.expect("PING", "+PONG^");
      assertThrows(io.kvsep.error.StoreClosedException.class, redis.server::close);
    }
  }

  @Test
  void anErrorOfOneCommandIsNotThatOfItsNeighbours() throws IOException {
    try (RunningRedis redis =
            RunningRedis.in(
                directory, Clock.systemUTC(), options -> options.withLimits(RunningRedis.small()));
        RawClient client = redis.connect()) {
      assertEquals("+OK^", client.command("SET", "long", "v".repeat(600_000)));
      // The third would have too long a reply, which shows when it runs inside the group.
      client.send("SET a 1^INCR a^MULTI^GET long^GET long^EXEC^INCR a^");
      assertEquals("+OK^", client.reply());
      assertEquals(":2^", client.reply());
      assertEquals("+OK^+QUEUED^+QUEUED^", client.reply() + client.reply() + client.reply());
      assertEquals("-ERR the reply would have more than 1048576 bytes^", client.reply());
      assertEquals(":3^", client.reply());
    }
  }
}
