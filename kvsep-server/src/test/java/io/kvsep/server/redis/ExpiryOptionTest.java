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
