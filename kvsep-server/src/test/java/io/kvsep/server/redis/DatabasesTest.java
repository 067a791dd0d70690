package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Commands about several databases, and about how values are kept. */
final class DatabasesTest {
  private static final long NOW = 1_000_000_000_000L;

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(NOW);
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory, clock, options -> options);
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

  @Test
  void aKeyMovesToAnotherDatabase() throws IOException {
    all(
        "SET a 1 PX 1000", "+OK^",
        "SET b 2", "+OK^",
        "MOVE a 3", ":1^",
        "MOVE none 3", ":0^",
        "EXISTS a", ":0^",
        "MOVE b 0", "-ERR source and destination objects are the same^",
        "MOVE b 16", "-ERR DB index is out of range^",
        "MOVE b x", "-ERR value is not an integer or out of range^",
        "SELECT 3", "+OK^",
        "GET a", "$1^1^",
        "PTTL a", ":1000^",
        "SET b 3", "+OK^",
        "MOVE b 0", ":0^",
        "MOVE a 0", ":1^",
        "EXISTS a", ":0^",
        "SELECT 0", "+OK^",
        "MGET a b", "*2^$1^1^$1^2^");
  }

  @Test
  void databasesAreExchanged() throws IOException {
    all(
        "MSET a 1 b 2", "+OK^",
        "PEXPIRE a 1000", ":1^",
        "SELECT 3", "+OK^",
        "SET a three", "+OK^",
        "SWAPDB 0 3", "+OK^",
        "MGET a b", "*2^$1^1^$1^2^",
        "PTTL a", ":1000^",
        "SELECT 0", "+OK^",
        "MGET a b", "*2^$5^three^$-1^",
        "TTL a", ":-1^",
        "SWAPDB 0 0", "+OK^",
        "SWAPDB 0 7", "+OK^",
        "KEYS *", "*0^",
        "SWAPDB 7 0", "+OK^",
        "KEYS *", "*1^$1^a^",
        "SWAPDB x 0", "-ERR invalid first DB index^",
        "SWAPDB 0 x", "-ERR invalid second DB index^",
        "SWAPDB 0 16", "-ERR DB index is out of range^");
    byte[] key = "b".getBytes(US_ASCII);
    assertNull(redis.store.get(key));
    assertTrue(redis.store.in(redis.store.keyspace("db3")).contains(key));
  }

  @Test
  void anExchangeIsPartOfATransactionAndSeenByThoseWhoWatch() throws IOException {
    all(
        "SET a 1", "+OK^",
        "MULTI", "+OK^",
        "SET a 2", "+QUEUED^",
        "SWAPDB 0 1", "+QUEUED^",
        "SET a 3", "+QUEUED^",
        "SELECT 1", "+QUEUED^",
        "GET a", "+QUEUED^",
        "EXEC", "*5^+OK^+OK^+OK^+OK^$1^2^",
        "SELECT 0", "+OK^",
        "GET a", "$1^3^",
        "WATCH a", "+OK^",
        "SWAPDB 0 1", "+OK^",
        "MULTI", "+OK^",
        "GET a", "+QUEUED^",
        "EXEC", "*-1^");
  }

  @Test
  void databasesThatAreTooLargeAreNotExchanged(@TempDir Path other) throws IOException {
    try (RunningRedis small =
            RunningRedis.in(other, clock, options -> options.withLimits(RunningRedis.small()));
        RawClient asking = small.connect()) {
      for (int i = 0; i < 3; i++) {
        asking.expect("SETRANGE k" + i + " 999999 x", ":1000000^");
      }
      asking.expect("SWAPDB 0 1", "-ERR no memory for this command beside those under way^");
      asking.expect("DBSIZE", ":3^");
    }
  }

  @Test
  void howValuesAreKept() throws IOException {
    String encoding = "OBJECT ENCODING ";
    all(
        "MSET i -12 e 012 s " + "x".repeat(44) + " r " + "x".repeat(45),
        "+OK^",
        encoding + "i",
        "$3^int^",
        encoding + "e",
        "$6^embstr^",
        encoding + "s",
        "$6^embstr^",
        encoding + "r",
        "$3^raw^",
        encoding + "none",
        "$-1^",
        "OBJECT REFCOUNT i",
        ":1^",
        "OBJECT REFCOUNT none",
        "$-1^",
        "OBJECT IDLETIME i",
        "-ERR idle time is not tracked^",
        "OBJECT FREQ i",
        "-ERR An LFU maxmemory policy is not selected, access frequency not tracked.^",
        "OBJECT ENCODING",
        "-ERR wrong number of arguments for 'object|encoding' command^",
        "OBJECT FOO i",
        "-ERR unknown subcommand 'FOO'. Try OBJECT HELP.^");
  }
}
