package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.WriteBatch;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each limit with what a client is told, and that others go on. */
final class LimitsTest {
  private static final String TOKEN = "a token";
  private static final String LONG = "v".repeat(40_000);

  @TempDir Path directory;
  private RunningRedis redis;

  @BeforeEach
  void open() throws IOException {
    redis =
        RunningRedis.in(
            directory, Clock.systemUTC(), options -> options.withLimits(RunningRedis.small()));
  }

  @AfterEach
  void close() {
    redis.close();
  }

  @Test
  void tooManyArguments() throws IOException {
    refused("*21^", "invalid multibulk length");
    refused("PING" + " x".repeat(30) + "^", "invalid multibulk length");
  }

  @Test
  void tooManyBytes() throws IOException {
    refused("*2^$1048577^", "invalid bulk length");
    refused("*2^$3^GET^$1048574^", "invalid bulk length");
  }

  @Test
  void allCommandsTogether() throws IOException {
    reopenPatient();
    try (RawClient first = redis.connect();
        RawClient second = redis.connect()) {
      begin(first);
      begin(second);
      refused("*2^$3^GET^$1048000^", "no memory for this command beside those under way");
      first.expect(
          "x".repeat(1_048_000), "-ERR a key must not be longer than 65535 bytes, has 1048000^");
      begin(first);
    }
    try (RawClient later = redis.connect()) {
      assertEquals("+OK^", later.command("SET", "k", "v".repeat(1_000_000)));
    }
  }

  @Test
  void aLongCommandThatDoesNotComeIsGivenUp() throws IOException {
    try (RawClient stalled = redis.connect();
        RawClient other = redis.connect()) {
      begin(stalled);
      stalled.send("x".repeat(1000));
      assertTrue(stalled.isEnded());
      other.expect("PING", "+PONG^");
      long all = RunningRedis.small().requestBytes();
      long deadline = System.nanoTime() + 30_000_000_000L;
      while (redis.server.state().budget().left() < all && System.nanoTime() - deadline < 0) {
        other.expect("PING", "+PONG^");
      }
      assertEquals(all, redis.server.state().budget().left());
    }
  }

  @Test
  void shortTransactionsGoOnWhereNothingIsLeftForLongCommands() throws IOException {
    reopenPatient();
    try (RawClient first = redis.connect();
        RawClient second = redis.connect();
        RawClient third = redis.connect();
        RawClient other = redis.connect()) {
      begin(first);
      begin(second);
      // What its two arguments take beside their bytes, and the first of these.
      long rest = redis.server.state().budget().left() + RequestBudget.FREE_BYTES - 2 * 24 - 3;
      third.send("PING^*2^$3^GET^$" + rest + "^");
      assertEquals("+PONG^", third.reply());
      assertEquals(0, redis.server.state().budget().left());
      other.expect("MULTI", "+OK^");
      other.expect("SET a 1", "+QUEUED^");
      other.expect("GET a", "+QUEUED^");
      other.expect("EXEC", "*2^+OK^$1^1^");
      other.expect("MULTI", "+OK^");
      assertEquals("+QUEUED^", other.command("SET", "a", LONG));
      assertEquals("-ERR the transaction is too large^", other.command("SET", "a", LONG));
    }
    assertEquals(RunningRedis.small().requestBytes(), left());
  }

  @Test
  void watchedKeysCountBesideCommandsUnderWay() throws IOException {
    String key = "k".repeat(60_000);
    String refusal = "-ERR no memory for these keys beside commands under way^";
    try (RawClient first = redis.connect();
        RawClient second = redis.connect();
        RawClient third = redis.connect()) {
      for (int i = 10; i < 27; i++) {
        assertEquals("+OK^", first.command("WATCH", key + i));
        assertEquals("+OK^", second.command("WATCH", key + i));
      }
      assertEquals("-ERR too many watched keys^", first.command("WATCH", key));
      // The first 64 KiB are free.
      for (int i = 10; i < 14; i++) {
        assertEquals("+OK^", third.command("WATCH", key + i));
      }
      assertEquals(refusal, third.command("WATCH", key));
      first.expect("UNWATCH", "+OK^");
      assertEquals("+OK^", third.command("WATCH", key));
      second.expect("MULTI", "+OK^");
      second.expect("PING", "+QUEUED^");
      second.expect("EXEC", "*1^+PONG^");
      third.expect("RESET", "+RESET^");
      assertEquals(RunningRedis.small().requestBytes(), redis.server.state().budget().left());
      assertEquals("+OK^", first.command("WATCH", key, key));
      assertTrue(redis.server.state().budget().left() < RunningRedis.small().requestBytes());
    }
    assertEquals(RunningRedis.small().requestBytes(), left());
  }

  /** What is left once the ends of connections have been seen. */
  private long left() throws IOException {
    try (RawClient client = redis.connect()) {
      long deadline = System.nanoTime() + 30_000_000_000L;
      while (!client.ask("CLIENT LIST").matches("\\$\\d+\\^id=[^\n]*\n\\^")
          && System.nanoTime() - deadline < 0) {
        client.expect("PING", "+PONG^");
      }
    }
    return redis.server.state().budget().left();
  }

  @Test
  void manyEmptyArgumentsCountForWhatTheyTake() throws Exception {
    redis.close();
    redis = RunningRedis.in(directory);
    try (RawClient client = redis.connect()) {
      for (int i = 0; i < 20; i++) {
        assertEquals("+OK^", client.command("SET", "x".repeat(65_000) + i, ""));
      }
      AtomicLong most = new AtomicLong();
      AtomicBoolean ends = new AtomicBoolean();
      Thread looking =
          new Thread(
              () -> {
                while (!ends.get()) {
                  long now = redis.server.state().underWay().get();
                  most.accumulateAndGet(now, Math::max);
                }
              });
      // Is at each letter of each key for all letters of the pattern.
      client.send(RawClient.array("KEYS", "*" + "x".repeat(32_000) + "y*"));
      looking.start();
      int count = 100;
      Thread sender = sending(client, "*2729^$4^MGET^" + "$0^^".repeat(2728), count);
      assertEquals("*0^", client.reply());
      ends.set(true);
      looking.join();
      for (int i = 0; i < count; i++) {
        assertEquals("-ERR a key must not be empty in this store^", client.reply());
      }
      sender.join();
      assertTrue(most.get() <= 10, () -> most + " commands of 64 KiB were read");
    }
  }

  /** The answer shows that what was sent with its question was seen. */
  private static void begin(RawClient client) throws IOException {
    client.send("PING^*2^$3^GET^$1048000^");
    assertEquals("+PONG^", client.reply());
  }

  private void refused(String sent, String why) throws IOException {
    try (RawClient client = redis.connect();
        RawClient other = redis.connect()) {
      client.send(sent);
      assertEquals("-ERR Protocol error: " + why + "^", client.reply());
      assertTrue(client.isEnded());
      other.expect("PING", "+PONG^");
    }
  }

  @Test
  void tooManyConnections() throws IOException {
    List<RawClient> clients = new ArrayList<>();
    try {
      for (int i = 0; i < 5; i++) {
        clients.add(redis.connect());
        clients.get(i).expect("PING", "+PONG^");
      }
      try (RawClient last = redis.connect()) {
        assertEquals("-ERR max number of clients reached^", last.reply());
        assertTrue(last.isEnded());
      }
      clients.get(4).expect("PING", "+PONG^");
    } finally {
      for (RawClient client : clients) {
        client.close();
      }
    }
  }

  @Test
  void longPipelinesAreReadInParts() throws IOException {
    try (RawClient client = redis.connect()) {
      client.send("INCR n^".repeat(5000));
      for (int i = 1; i <= 5000; i++) {
        assertEquals(":" + i + "^", client.reply());
      }
    }
  }

  @Test
  void longPipelinesOfQuickCommandsAreReadInParts() throws IOException {
    try (RawClient client = redis.connect()) {
      StringBuilder sent = new StringBuilder();
      for (int i = 0; i < 3000; i++) {
        sent.append("SET k ").append(i).append("^GET k^");
      }
      client.send(sent.toString());
      for (int i = 0; i < 3000; i++) {
        String digits = Integer.toString(i);
        assertEquals("+OK^", client.reply());
        assertEquals("$" + digits.length() + "^" + digits + "^", client.reply());
      }
    }
  }

  @Test
  void aClientThatTakesNoShortRepliesIsClosedAndHoldsNothingUp() throws Exception {
    try (RawClient slow = redis.connect();
        RawClient other = redis.connect()) {
      assertEquals("+OK^", other.command("SET", "k", "v".repeat(1000)));
      String id = slow.ask("CLIENT ID").replace(":", "id=").replace("^", " ");
      Thread sender = sending(slow, "GET k^", 200_000);
      long deadline = System.nanoTime() + 30_000_000_000L;
      while (other.ask("CLIENT LIST").contains(id) && System.nanoTime() - deadline < 0) {
        assertEquals("$1000^" + "v".repeat(1000) + "^", other.ask("GET k"));
        long underWay = redis.server.state().underWay().get();
        assertTrue(underWay <= 10, () -> underWay + " commands are under way");
      }
      sender.join();
      long taken = slow.drain();
      assertTrue(taken < 100_000_000, () -> "everything was sent: " + taken);
      assertTrue(slow.isEnded());
    }
  }

  @Test
  void aClientThatReadsLateGetsEveryReply() throws Exception {
    int count = 20_000;
    redis.close();
    redis = RunningRedis.in(directory);
    try (RawClient late = redis.connect();
        RawClient other = redis.connect()) {
      String value = "v".repeat(1000);
      assertEquals("+OK^", other.command("SET", "k", value));
      Thread sender = sending(late, "GET k^ECHO x^", count);
      // What fits into the buffers of both sides, and the server's limits, is less than that.
      int pipelined = RedisLimits.defaults().pipelined();
      for (int i = 0; i < 200; i++) {
        other.expect("GET k", "$1000^" + value + "^");
        long underWay = redis.server.state().underWay().get();
        assertTrue(underWay <= pipelined + 1, () -> underWay + " commands are under way");
      }
      for (int i = 0; i < count; i++) {
        assertEquals("$1000^" + value + "^", late.reply());
        assertEquals("$1^x^", late.reply());
      }
      sender.join();
    }
  }

  @Test
  void shortCommandsWithLongRepliesWaitUntilTheseAreTaken() throws IOException {
    redis.close();
    redis = RunningRedis.in(directory);
    int count = 200;
    try (RawClient client = redis.connect()) {
      String value = "v".repeat(1_000_000);
      assertEquals("+OK^", client.command("SET", "k", value));
      client.send("GETEX k^".repeat(count));
      assertEquals("$1000000^" + value + "^", client.reply());
      long underWay = redis.server.state().underWay().get();
      assertTrue(underWay > count / 2, () -> "only " + underWay + " have no answer yet");
      for (int i = 1; i < count; i++) {
        assertEquals("$1000000^" + value + "^", client.reply());
      }
    }
  }

  @Test
  void aGroupThatIsCutKeepsTheOrderOfEachConnection() throws Exception {
    redis.close();
    redis = RunningRedis.in(directory);
    int count = 60;
    String filler = "v".repeat(700_000);
    try (RawClient first = redis.connect();
        RawClient second = redis.connect()) {
      for (RawClient client : List.of(first, second)) {
        String key = client == first ? "a" : "b";
        assertEquals("+OK^", client.command("SET", key, filler));
        String part = "MULTI^APPEND " + key + " x^EXEC^GETEX " + key + "^STRLEN " + key + "^";
        client.send(part.repeat(count));
      }
      for (int i = 1; i <= count; i++) {
        for (RawClient client : List.of(first, second)) {
          int length = 700_000 + i;
          assertEquals("+OK^", client.reply());
          assertEquals("+QUEUED^", client.reply());
          assertEquals("*1^:" + length + "^", client.reply());
          assertEquals("$" + length + "^" + filler + "x".repeat(i) + "^", client.reply());
          assertEquals(":" + length + "^", client.reply());
        }
      }
    }
  }

  @Test
  void transactionsThatWriteTooMuchAreRefused() throws IOException {
    try (RawClient client = redis.connect()) {
      assertEquals("+OK^", client.command("SET", "k", "v".repeat(600_000)));
      client.expect("MULTI", "+OK^");
      for (int i = 0; i < 5; i++) {
        client.expect("EXPIRE k 1000", "+QUEUED^");
      }
      client.expect("EXEC", "-ERR the transaction is too large^");
      client.expect("TTL k", ":-1^");
      client.expect("EXPIRE k 1000", ":1^");
    }
  }

  @Test
  void whatShortCommandsReadCountsBesideThoseUnderWay() throws IOException {
    reopenPatient();
    String refusal = "-ERR no memory for this command beside those under way^";
    String value = "v".repeat(300_000);
    try (RawClient first = redis.connect();
        RawClient second = redis.connect();
        RawClient client = redis.connect()) {
      assertEquals("+OK^", client.command("SET", "k", value));
      begin(first);
      begin(second);
      client.expect("MGET k k", refusal);
      client.expect("GET k", "$300000^" + value + "^");
      first.expect(
          "x".repeat(1_048_000), "-ERR a key must not be longer than 65535 bytes, has 1048000^");
      client.expect("MGET k k", "*2^" + ("$300000^" + value + "^").repeat(2));
    }
  }

  @Test
  void keysCountWithWhatTheyTakeOnTheHeap() throws IOException {
    WriteBatch batch = new WriteBatch();
    for (int i = 10_000; i < 55_000; i++) {
      batch.put(Integer.toString(i).getBytes(US_ASCII), new byte[0]);
    }
    redis.store.write(batch);
    try (RawClient client = redis.connect()) {
      client.expect("KEYS *", "-ERR no memory for this command beside those under way^");
      assertTrue(client.ask("KEYS 1*").startsWith("*10000^$5^10000^"));
      client.expect("PING", "+PONG^");
    }
    RedisLimits limits = RunningRedis.small();
    assertEquals(limits.requestBytes(), redis.server.state().budget().left());
  }

  @Test
  void aScanLooksAtFewKeysAtATimeWhereMatchingThemIsMuchWork() throws IOException {
    redis.close();
    redis = RunningRedis.in(directory);
    int count = 8;
    try (RawClient client = redis.connect()) {
      for (int i = 0; i < count; i++) {
        assertEquals("+OK^", client.command("SET", i + "x".repeat(9_999), ""));
      }
      String pattern = "*" + "x".repeat(9_000);
      String cursor = "0";
      for (int i = 0; i < count; i++) {
        String reply = client.command("SCAN", cursor, "MATCH", pattern, "COUNT", "100");
        String[] lines = reply.split("\\^", -1);
        assertEquals("*1", lines[3], "keys of one call");
        assertEquals(i + "x".repeat(9_999), lines[5]);
        cursor = lines[2];
      }
      assertEquals("0", cursor);
    }
  }

  @Test
  void valuesThatCommandsMakeAreNoLongerThanThoseThatCanBeSent() throws IOException {
    redis.close();
    RedisLimits limits =
        new RedisLimits(
            5, 20, 1 << 20, 100_000, 1 << 20, 8, Duration.ofSeconds(60), Duration.ofSeconds(10));
    redis = RunningRedis.in(directory, Clock.systemUTC(), options -> options.withLimits(limits));
    String refusal = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)^";
    try (RawClient client = redis.connect()) {
      client.expect("SETRANGE k 100000 x", refusal);
      client.expect("SETRANGE k 99999 x", ":100000^");
      client.expect("APPEND k x", refusal);
      client.expect("STRLEN k", ":100000^");
    }
  }

  /** Until all of it is sent, or the other side has closed. */
  private static Thread sending(RawClient client, String part, int times) {
    Thread sender =
        new Thread(
            () -> {
              try {
                for (int i = 0; i < times / 100; i++) {
                  client.send(part.repeat(100));
                }
              } catch (IOException e) {
                return;
              }
            });
    sender.start();
    return sender;
  }

  @Test
  void aClientThatTakesNoRepliesIsClosedAndHoldsNothingUp() throws IOException {
    try (RawClient slow = redis.connect();
        RawClient other = redis.connect()) {
      assertEquals("+OK^", other.command("SET", "k", "v".repeat(1_000_000)));
      String id = slow.ask("CLIENT ID").replace(":", "id=").replace("^", " ");
      slow.send("GET k^".repeat(200));
      long deadline = System.nanoTime() + 30_000_000_000L;
      while (other.ask("CLIENT LIST").contains(id) && System.nanoTime() - deadline < 0) {
        other.expect("PING", "+PONG^");
      }
      long taken = slow.drain();
      assertTrue(taken < 100_000_000, () -> "everything was sent: " + taken);
      assertTrue(slow.isEnded());
    }
  }

  @Test
  void repliesThatAreTooLongAreRefused() throws IOException {
    try (RawClient client = redis.connect()) {
      assertEquals("+OK^", client.command("SET", "k", "v".repeat(600_000)));
      String refusal = "-ERR the reply would have more than 1048576 bytes^";
      client.expect("MGET k k", refusal);
      client.expect("MULTI", "+OK^");
      client.expect("SET n 1", "+QUEUED^");
      client.expect("GET k", "+QUEUED^");
      client.expect("GET k", "+QUEUED^");
      client.expect("EXEC", refusal);
      client.expect("EXISTS n", ":0^");
      client.expect(
          "SETRANGE k 1048576 x", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)^");
    }
  }

  @Test
  void strangersGetLittleAndNotForLong() throws IOException {
    reopen(RunningRedis.small(Duration.ofMinutes(1)));
    refusedStranger("*11^", "unauthenticated multibulk length");
    refusedStranger("*2^$3^GET^$16385^", "unauthenticated bulk length");
    try (RawClient client = redis.connect()) {
      client.expect("GET a", "-NOAUTH Authentication required.^");
      client.expect("PING", "-NOAUTH Authentication required.^");
      assertTrue(client.ask("HELLO 3").startsWith("-NOAUTH HELLO must be called"));
      client.expect(
          "AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled.^");
      client.expect(
          "AUTH other \"a token\"",
          "-WRONGPASS invalid username-password pair or user is disabled.^");
      client.expect("AUTH \"a token\"", "+OK^");
      client.expect("GET a", "$-1^");
      client.expect("RESET", "+RESET^");
      client.expect("GET a", "-NOAUTH Authentication required.^");
      client.send("AUTH default \"a token\"^" + RawClient.array("SET", "a", "v".repeat(100_000)));
      assertEquals("+OK^", client.reply());
      assertEquals("+OK^", client.reply());
    }
    reopen(RunningRedis.small());
    try (RawClient idle = redis.connect()) {
      assertTrue(idle.isEnded());
    }
  }

  /** Also behind the time that the connection had when it was opened. */
  @Test
  void whoGivesTheTokenUpIsAStrangerAnew() throws IOException {
    reopen(RunningRedis.small(Duration.ofSeconds(1)));
    try (RawClient client = redis.connect()) {
      client.expect("AUTH \"a token\"", "+OK^");
      try (RawClient later = redis.connect()) {
        assertTrue(later.isEnded());
      }
      client.send("RESET^AUTH \"a token\"^RESET^PING^");
      assertEquals("+RESET^+OK^+RESET^", client.reply() + client.reply() + client.reply());
      assertEquals("-NOAUTH Authentication required.^", client.reply());
      assertTrue(client.isEnded());
    }
  }

  /** Waits for what does not come. */
  private void reopenPatient() throws IOException {
    redis.close();
    Duration minute = Duration.ofMinutes(1);
    redis =
        RunningRedis.in(
            directory,
            Clock.systemUTC(),
            options -> options.withLimits(RunningRedis.small(minute, minute)));
  }

  /** For clients that have a token. */
  private void reopen(RedisLimits limits) throws IOException {
    redis.close();
    redis =
        RunningRedis.in(
            directory,
            Clock.systemUTC(),
            options -> RunningRedis.withToken(options.withLimits(limits), TOKEN));
  }

  private void refusedStranger(String sent, String why) throws IOException {
    try (RawClient client = redis.connect()) {
      client.send(sent);
      assertEquals("-ERR Protocol error: " + why + "^", client.reply());
    }
  }

  @Test
  void timesThatNoTimerCanHaveAreRefused() {
    List<Duration> wrong =
        List.of(
            Duration.ofSeconds(Long.MAX_VALUE),
            Duration.ofSeconds(Long.MIN_VALUE),
            Duration.ofMillis(Integer.MAX_VALUE + 1L),
            Duration.ZERO);
    for (Duration time : wrong) {
      assertEquals(
          "authentication must be from PT0.001S to PT596H31M23.647S, is " + time,
          assertThrows(IllegalArgumentException.class, () -> RunningRedis.small(time))
              .getMessage());
    }
    Duration most = Duration.ofMillis(Integer.MAX_VALUE);
    assertEquals(most, RunningRedis.small(most).authentication());
  }

  @Test
  void otherAddressesThanLoopbackNeedAToken() {
    InetSocketAddress anywhere = new InetSocketAddress("0.0.0.0", 0);

    assertThrows(IllegalArgumentException.class, () -> RedisOptions.on(anywhere, null));
    assertThrows(IllegalArgumentException.class, () -> RedisOptions.on(anywhere, ""));
    assertTrue(!RedisOptions.on(anywhere, TOKEN).toString().contains(TOKEN));
  }
}
