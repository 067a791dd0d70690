package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
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

  /** Quick commands of several clients on both loops, so that closing comes in the middle. */
  @Test
  void quickCommandsUnderWayAreAnsweredOrNotBegun() throws Exception {
    RunningRedis redis = RunningRedis.in(directory);
    List<Counting> clients = fourAtWork(redis);

    redis.close();

    try (KvStore store = KvStore.open(directory)) {
      for (Counting client : clients) {
        client.join();
        assertNull(client.wrong);
        byte[] value = store.get(client.key.getBytes(UTF_8));
        long stored = Numbers.integer(Objects.requireNonNull(value));
        assertTrue(stored >= client.acknowledged, () -> stored + ", not " + client.acknowledged);
      }
    }
  }

  @Test
  void aStoreThatIsClosedBelowQuickCommandsIsAnError() throws Exception {
    try (RunningRedis redis = RunningRedis.in(directory)) {
      List<Counting> clients = fourAtWork(redis);

      redis.store.close();

      for (Counting client : clients) {
        client.join();
        assertEquals("-ERR the store is closed^", client.wrong);
      }
      try (RawClient client = redis.connect()) {
        client.expect("PING", "+PONG^");
      }
      assertThrows(io.kvsep.error.StoreClosedException.class, redis.server::close);
    }
  }

  private static List<Counting> fourAtWork(RunningRedis redis) throws Exception {
    List<Counting> clients = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Counting client = new Counting(redis.connect(), "k" + i);
      clients.add(client);
      client.start();
    }
    for (Counting client : clients) {
      client.awaitBegin();
    }
    return clients;
  }

  /** Sets a key to ever higher numbers and reads it, in pipelines, until the answer is another. */
  private static final class Counting extends Thread {
    private static final int DEPTH = 20;

    final String key;
    private final RawClient client;
    private final CountDownLatch begun = new CountDownLatch(20);
    volatile long acknowledged;
    volatile @Nullable String wrong;

    Counting(RawClient client, String key) {
      this.client = client;
      this.key = key;
    }

    /** Returns when it has had some answers. */
    void awaitBegin() throws InterruptedException {
      begun.await();
    }

    @Override
    public void run() {
      try (RawClient connected = client) {
        while (wrong == null) {
          round(connected);
          begun.countDown();
        }
      } catch (IOException e) {
        // The server has closed the connection.
        return;
      }
    }

    private void round(RawClient connected) throws IOException {
      long first = acknowledged + 1;
      StringBuilder sent = new StringBuilder();
      for (long i = first; i < first + DEPTH; i++) {
        sent.append("SET ").append(key).append(' ').append(i).append("^GET ").append(key);
        sent.append('^');
      }
      connected.send(sent.toString());
      for (long i = first; i < first + DEPTH && wrong == null; i++) {
        String digits = Long.toString(i);
        expect(connected, "+OK^");
        if (wrong == null) {
          acknowledged = i;
          expect(connected, "$" + digits.length() + "^" + digits + "^");
        }
      }
    }

    private void expect(RawClient connected, String reply) throws IOException {
      String found = connected.reply();
      if (!found.equals(reply)) {
        wrong = found;
      }
    }
  }

  @Test
  void aConnectionThatIsAcceptedButNotOpenYetIsClosed() throws Exception {
    CountDownLatch mayGoOn = new CountDownLatch(1);
    Callable<Boolean> holding =
        () -> {
          mayGoOn.await();
          return true;
        };
    try (RunningRedis redis = RunningRedis.in(directory);
        RawClient first = redis.connect()) {
      first.expect("PING", "+PONG^");
      Session session = redis.server.state().sessions().iterator().next();
      try (RawClient second = redis.connect()) {
        second.expect("PING", "+PONG^");
        // The two loops take turns: the other one has the listener and every second connection.
        Future<Boolean> held = session.channel.eventLoop().submit(holding);
        try (RawClient accepted = redis.connect();
            RawClient behind = redis.connect()) {
          behind.expect("PING", "+PONG^");

          redis.server.close(Duration.ofMillis(100));

          assertFalse(held.isDone());
          mayGoOn.countDown();
          assertTrue(accepted.isEnded());
        } finally {
          mayGoOn.countDown();
        }
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
  void databasesThatAStoreForReadingOnlyHasNotAreEmpty() throws IOException {
    try (KvStore store = KvStore.open(directory)) {
      store.put("a".getBytes(UTF_8), "1".getBytes(UTF_8));
    }
    try (RunningRedis redis =
            RunningRedis.in(
                directory, KvOptions.builder().readOnly(true).build(), options -> options);
        RawClient client = redis.connect()) {
      String refusal = "-READONLY the store is open for reading only^";
      String[] linesAndReplies = {
        "WATCH a", "+OK^",
        "SELECT 5", "+OK^",
        "GET a", "$-1^",
        "MGET a b", "*2^$-1^$-1^",
        "EXISTS a b", ":0^",
        "STRLEN a", ":0^",
        "GETRANGE a 0 -1", "$0^^",
        "TTL a", ":-2^",
        "TYPE a", "+none^",
        "SCAN 0", "*2^$1^0^*0^",
        "RANDOMKEY", "$-1^",
        "KEYS *", "*0^",
        "DBSIZE", ":0^",
        "SET a 1", refusal,
        "INCR a", refusal,
        "SETNX a 1", refusal,
        "FLUSHDB", refusal,
        "DEL a", ":0^",
        "GETEX a PERSIST", "$-1^",
        "WATCH a", "+OK^",
        "MULTI", "+OK^",
        "GET a", "+QUEUED^",
        "EXEC", "*1^$-1^",
        "SELECT 0", "+OK^",
        "COPY a b DB 5", refusal,
        "GET a", "$1^1^",
      };
      for (int i = 0; i < linesAndReplies.length; i += 2) {
        client.expect(linesAndReplies[i], linesAndReplies[i + 1]);
      }
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
