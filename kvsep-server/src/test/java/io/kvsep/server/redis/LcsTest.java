package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What two values have in common. */
final class LcsTest {
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
  void theLongestCommonSequence() throws IOException {
    all(
        "MSET a ohmytext b mynewtext", "+OK^",
        "LCS a b", "$6^mytext^",
        "LCS a b LEN", ":6^",
        "LCS a b IDX", "*4^$7^matches^*2^*2^*2^:4^:7^*2^:5^:8^*2^*2^:2^:3^*2^:0^:1^$3^len^:6^",
        "LCS a b IDX MINMATCHLEN 4", "*4^$7^matches^*1^*2^*2^:4^:7^*2^:5^:8^$3^len^:6^",
        "LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN",
            "*4^$7^matches^*1^*3^*2^:4^:7^*2^:5^:8^:4^$3^len^:6^",
        "LCS a none", "$0^^",
        "LCS none none LEN", ":0^",
        "LCS a none IDX", "*4^$7^matches^*0^$3^len^:0^",
        "LCS a b LEN IDX", "-ERR If you want both the length and indexes, please just use IDX.^",
        "LCS a b FOO", "-ERR syntax error^",
        "LCS a b MINMATCHLEN", "-ERR syntax error^",
        "LCS a b MINMATCHLEN x", "-ERR value is not an integer or out of range^");
  }

  @Test
  void valuesThatWouldTakeTooMuchMemoryAreRefused() throws IOException {
    all(
        "SETRANGE a 99999 x", ":100000^",
        "SETRANGE b 99999 x", ":100000^",
        "LCS a b LEN", "-ERR no memory for this command beside those under way^",
        "PING", "+PONG^");
  }

  /** The length by another way: what is left when letters are taken from either end. */
  @Test
  void lengthsAreThoseOfRecursion() throws IOException {
    Seeds.each(LcsTest.class, 20, this::compare);
  }

  private void compare(Random random) throws IOException {
    String first = word(random);
    String second = word(random);
    client.expect("MSET a " + first + " b " + second, "+OK^");
    int length = common(first, second);
    client.expect("LCS a b LEN", ":" + length + "^");
    String found = client.ask("LCS a b").split("\\^", -1)[1];
    assertEquals(length, found.length());
    assertEquals(length, common(first, found));
    assertEquals(length, common(second, found));
  }

  private static String word(Random random) {
    StringBuilder word = new StringBuilder("a");
    int length = random.nextInt(9);
    for (int i = 0; i < length; i++) {
      word.append((char) ('a' + random.nextInt(3)));
    }
    return word.toString();
  }

  private static int common(String first, String second) {
    if (first.isEmpty() || second.isEmpty()) {
      return 0;
    }
    String ofFirst = first.substring(1);
    String ofSecond = second.substring(1);
    return first.charAt(0) == second.charAt(0)
        ? 1 + common(ofFirst, ofSecond)
        : Math.max(common(ofFirst, second), common(first, ofSecond));
  }
}
