package io.kvsep.server.redis;

import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What SET and GETEX are told of the expiry. */
final class ExpiryOptionTest {
  private static final long NOW = 1_000_000_000_000L;

  @TempDir Path directory;
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory, new ManualClock(NOW), options -> options);
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

  /** Other options about the time exclude each other, also where the time is none. */
  @Test
  void theLastOfTheSameOptionCounts() throws IOException {
    all(
        "SET a 1 EX 10 EX 20",
        "+OK^",
        "PTTL a",
        ":20000^",
        "SET a 1 EX x NX EX 5",
        "$-1^",
        "SET a 1 PX 10 XX PX 7000",
        "+OK^",
        "PTTL a",
        ":7000^",
        "SET a 1 EXAT 1 EXAT " + (NOW / 1000 + 3),
        "+OK^",
        "PTTL a",
        ":3000^",
        "SET a 1 PXAT " + (NOW + 9) + " PXAT " + (NOW + 8),
        "+OK^",
        "PTTL a",
        ":8^",
        "SET a 1 KEEPTTL KEEPTTL",
        "+OK^",
        "PTTL a",
        ":8^",
        "SET a 1 EX 1 PX x",
        "-ERR syntax error^",
        "SET a 1 KEEPTTL PX 1",
        "-ERR syntax error^",
        "SET a 1 PERSIST",
        "-ERR syntax error^",
        "SET a 1 EX x FOO",
        "-ERR syntax error^",
        "SET a 1 EX 0 NX XX",
        "-ERR syntax error^",
        "GETEX a EX 10 EX 20",
        "$1^1^",
        "PTTL a",
        ":20000^",
        "GETEX a PXAT 1 PXAT " + (NOW + 4),
        "$1^1^",
        "PTTL a",
        ":4^",
        "GETEX a EX 1 PX 1",
        "-ERR syntax error^",
        "GETEX a EX 1 PERSIST",
        "-ERR syntax error^",
        "GETEX a PERSIST EX 1",
        "-ERR syntax error^",
        "GETEX a KEEPTTL",
        "-ERR syntax error^",
        "GETEX a EX x FOO",
        "-ERR syntax error^",
        "GETEX a EX x",
        "-ERR value is not an integer or out of range^",
        "PTTL a",
        ":4^",
        "GETEX a PERSIST PERSIST",
        "$1^1^",
        "PTTL a",
        ":-1^");
  }

  @Test
  void gettingWritesNothingWhereNoExpiryIsTakenAway() throws IOException {
    all("SET a 1", "+OK^");
    try (RawClient other = redis.connect()) {
      all("WATCH a", "+OK^");
      other.expect("GETEX a PERSIST", "$1^1^");
      other.expect("GETEX a", "$1^1^");
      all("MULTI", "+OK^", "SET a 2 EX 10", "+QUEUED^", "EXEC", "*1^+OK^", "WATCH a", "+OK^");
      other.expect("GETEX a PERSIST", "$1^2^");
      all("MULTI", "+OK^", "SET a 3", "+QUEUED^", "EXEC", "*-1^", "TTL a", ":-1^");
    }
  }
}
