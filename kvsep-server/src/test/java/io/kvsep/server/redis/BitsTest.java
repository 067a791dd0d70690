package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bits of values, with the exact bytes of replies, and against a plain text of ones and zeros. */
final class BitsTest {
  private static final long NOW = 1_000_000_000_000L;
  private static final String NOT_AN_INTEGER = "-ERR value is not an integer or out of range^";
  private static final String NOT_AN_OFFSET = "-ERR bit offset is not an integer or out of range^";

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
  void singleBits() throws IOException {
    all(
        "GETBIT a 7", ":0^",
        "SETBIT a 7 1", ":0^",
        "GET a", "$1^\1^",
        "SETBIT a 7 1", ":1^",
        "SETBIT a 1 1", ":0^",
        "GET a", "$1^A^",
        "GETBIT a 1", ":1^",
        "GETBIT a 8", ":0^",
        "GETBIT a 4294967295", ":0^",
        "SETBIT a 15 0", ":0^",
        "GET a", "$2^A\0^",
        "PEXPIRE a 1000", ":1^",
        "SETBIT a 0 1", ":0^",
        "PTTL a", ":1000^",
        "SETBIT b 0 0", ":0^",
        "GET b", "$1^\0^",
        "SETBIT a -1 1", NOT_AN_OFFSET,
        "SETBIT a x 1", NOT_AN_OFFSET,
        "SETBIT a 4294967296 1", NOT_AN_OFFSET,
        "GETBIT a 4294967296", NOT_AN_OFFSET,
        "SETBIT a 0 2", "-ERR bit is not an integer or out of range^",
        "SETBIT a 0 x", "-ERR bit is not an integer or out of range^");
  }

  @Test
  void aValueLongerThanTheServerMayMakeIsRefused(@TempDir Path other) throws IOException {
    String refusal = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)^";
    UnaryOperator<RedisOptions> change =
        options ->
            options.withLimits(
                new RedisLimits(
                    5, 20, 4096, 1024, 4096, 8, Duration.ofSeconds(60), Duration.ofSeconds(60)));
    try (RunningRedis small = RunningRedis.in(other, clock, change);
        RawClient asking = small.connect()) {
      asking.expect("SETBIT a 8191 1", ":0^");
      asking.expect("SETBIT a 8192 1", refusal);
      asking.expect("BITFIELD a SET u2 8191 1", refusal);
      asking.expect("GETBIT a 32767", ":0^");
      asking.expect("SETBIT a 32768 1", NOT_AN_OFFSET);
      asking.expect("STRLEN a", ":1024^");
    }
  }

  @Test
  void aBitThatIsAsItWasIsNoChange() throws IOException {
    all(
        "SETBIT a 7 1", ":0^",
        "BITFIELD n SET u8 0 5", "*1^:0^",
        "WATCH a n", "+OK^",
        "SETBIT a 7 1", ":1^",
        "BITFIELD n SET u8 0 5 INCRBY u8 0 0", "*2^:5^:5^",
        "MULTI", "+OK^",
        "EXEC", "*0^");
  }

  @Test
  void bitsAreCountedAndFound() throws IOException {
    all(
        "SET a foobar", "+OK^",
        "BITCOUNT a", ":26^",
        "BITCOUNT a 0 0", ":4^",
        "BITCOUNT a 1 1 BYTE", ":6^",
        "BITCOUNT a 5 30 bit", ":17^",
        "BITCOUNT a -6 -7", ":0^",
        "BITCOUNT a 0", "-ERR syntax error^",
        "BITCOUNT a 0 1 x", "-ERR syntax error^",
        "BITCOUNT a 0 1 BIT x", "-ERR syntax error^",
        "BITCOUNT a x 1", NOT_AN_INTEGER,
        "BITCOUNT none", ":0^",
        "BITPOS a 1", ":1^",
        "BITPOS a 0 0 0", ":0^",
        "BITPOS a 1 2 -1 BYTE", ":17^",
        "BITPOS a 1 7 15 BIT", ":9^",
        "BITPOS a 1 100", ":-1^",
        "BITPOS none 0", ":0^",
        "BITPOS none 1", ":-1^",
        "BITPOS a 2", "-ERR The bit argument must be 1 or 0.^",
        "BITPOS a 1 0 1 x", "-ERR syntax error^",
        "BITFIELD full SET i16 0 -1", "*1^:0^",
        "BITPOS full 0", ":16^",
        "BITPOS full 0 1", ":16^",
        "BITPOS full 0 0 -1", ":-1^");
  }

  @Test
  void valuesAreCombined() throws IOException {
    all(
        "MSET a abc b AB", "+OK^",
        "BITOP AND to a b", ":3^",
        "GET to", "$3^AB\0^",
        "BITOP or to a b", ":3^",
        "GET to", "$3^abc^",
        "BITOP XOR to a b none", ":3^",
        "GET to", "$3^  c^",
        "BITOP AND to a none", ":3^",
        "GET to", "$3^\0\0\0^",
        "BITOP NOT a a", ":3^",
        "BITOP NOT a a", ":3^",
        "GET a", "$3^abc^",
        "BITOP NOT to a b", "-ERR BITOP NOT must be called with a single source key.^",
        "BITOP NAND to a b", "-ERR syntax error^",
        "BITOP OR to none", ":0^",
        "EXISTS to", ":0^");
  }

  @Test
  void fieldsOfBits() throws IOException {
    String type =
        "-ERR Invalid bitfield type. Use something like i16 u8."
            + " Note that u64 is not supported but i64 is.^";
    all(
        "BITFIELD a", "*0^",
        "BITFIELD a GET u8 0", "*1^:0^",
        "EXISTS a", ":0^",
        "BITFIELD a SET u8 #1 66 SET u8 0 65 GET u16 0", "*3^:0^:0^:16706^",
        "GET a", "$2^AB^",
        "BITFIELD a GET i4 0 GET u4 12 GET u8 12", "*3^:4^:2^:32^",
        "BITFIELD a OVERFLOW FAIL INCRBY u8 0 200 OVERFLOW SAT INCRBY u8 0 200", "*2^$-1^:255^",
        "BITFIELD a INCRBY u8 0 2", "*1^:1^",
        "BITFIELD a OVERFLOW SAT SET u8 0 -1 GET u8 0", "*2^:1^:255^",
        "BITFIELD a SET i64 0 -9223372036854775808", "*1^:-53480245575024640^",
        "BITFIELD a OVERFLOW SAT INCRBY i64 0 -1", "*1^:-9223372036854775808^",
        "BITFIELD a INCRBY i64 0 -1", "*1^:9223372036854775807^",
        "BITFIELD_RO a GET u2 0 GET u63 100", "*2^:1^:0^",
        "BITFIELD_RO none GET u2 0", "*1^:0^",
        "BITFIELD_RO a SET u2 0 1", "-ERR BITFIELD_RO only supports the GET subcommand^",
        "BITFIELD a GET u64 0", type,
        "BITFIELD a GET i65 0", type,
        "BITFIELD a GET u0 0", type,
        "BITFIELD a GET x8 0", type,
        "BITFIELD a GET \"\" 0", type,
        "BITFIELD a GET u8 -1", NOT_AN_OFFSET,
        "BITFIELD a SET u8 #9223372036854775807 1", NOT_AN_OFFSET,
        "BITFIELD a SET u8 4294967295 1", NOT_AN_OFFSET,
        "BITFIELD a SET u8 0 x", NOT_AN_INTEGER,
        "BITFIELD a SET u8 0", "-ERR syntax error^",
        "BITFIELD a FOO", "-ERR syntax error^",
        "BITFIELD a OVERFLOW FOO", "-ERR Invalid OVERFLOW type specified^",
        "PEXPIRE a 1000", ":1^",
        "BITFIELD a SET u8 0 1", "*1^:127^",
        "PTTL a", ":1000^",
        "BITFIELD a OVERFLOW FAIL SET u8 0 256", "*1^$-1^");
    client.ask("HELLO 3");
    client.expect("BITFIELD a OVERFLOW FAIL SET u8 0 256", "*1^_^");
  }

  @Test
  void countsAndPlacesAreThoseOfAText() throws IOException {
    Seeds.each(BitsTest.class, 6, this::compareWithText);
  }

  private void compareWithText(Random random) throws IOException {
    char common = random.nextBoolean() ? '1' : '0';
    StringBuilder text = new StringBuilder(String.valueOf(common).repeat(8 * random.nextInt(40)));
    client.expect("DEL a", client.ask("EXISTS a").equals(":1^") ? ":1^" : ":0^");
    if (common == '1' && text.length() > 0) {
      client.ask("SETBIT a " + (text.length() - 1) + " 0");
      client.ask("BITOP NOT a a");
      client.ask("SETBIT a " + (text.length() - 1) + " 1");
    }
    for (int i = 0; i < 30; i++) {
      int bit = random.nextInt(300);
      char value = random.nextInt(4) == 0 ? (char) ('0' + random.nextInt(2)) : common;
      while (text.length() < (bit / 8 + 1) * 8) {
        text.append('0');
      }
      client.expect("SETBIT a " + bit + " " + value, ":" + text.charAt(bit) + "^");
      text.setCharAt(bit, value);
      int from = random.nextInt(text.length());
      int to = from + random.nextInt(text.length() - from);
      String part = text.substring(from, to + 1);
      String span = " " + from + " " + (to - text.length()) + " BIT";
      client.expect("BITCOUNT a" + span, ":" + part.replace("0", "").length() + "^");
      for (char wanted = '0'; wanted <= '1'; wanted++) {
        int at = part.indexOf(wanted);
        client.expect("BITPOS a " + wanted + span, ":" + (at < 0 ? -1 : from + at) + "^");
      }
    }
  }

  @Test
  void numbersOfAnyWidthOverflowAsExactOnesDo() throws IOException {
    Seeds.each(BitsTest.class, 6, this::compareWithExact);
  }

  private void compareWithExact(Random random) throws IOException {
    for (int i = 0; i < 60; i++) {
      boolean signed = random.nextBoolean();
      int width = 1 + random.nextInt(signed ? 64 : 63);
      String field = (signed ? "i" : "u") + width + " " + random.nextInt(100) + " ";
      BigInteger size = BigInteger.ONE.shiftLeft(width);
      BigInteger min = signed ? size.shiftRight(1).negate() : BigInteger.ZERO;
      BigInteger max = min.add(size).subtract(BigInteger.ONE);
      BigInteger first = new BigInteger(width, random).add(min);
      long second = random.nextLong() >> random.nextInt(64);
      BigInteger sum = first.add(BigInteger.valueOf(second));
      BigInteger wrapped = sum.subtract(min).mod(size).add(min);
      boolean fits = sum.equals(wrapped);
      all(
          "DEL a",
          client.ask("EXISTS a"),
          "BITFIELD a SET " + field + first,
          "*1^:0^",
          "BITFIELD a OVERFLOW FAIL INCRBY " + field + second,
          fits ? "*1^:" + sum + "^" : "*1^$-1^",
          "BITFIELD a SET " + field + first,
          "*1^:" + (fits ? sum : first) + "^",
          "BITFIELD a OVERFLOW SAT INCRBY " + field + second,
          "*1^:" + sum.max(min).min(max) + "^",
          "BITFIELD a SET " + field + first,
          "*1^:" + sum.max(min).min(max) + "^",
          "BITFIELD a INCRBY " + field + second,
          "*1^:" + wrapped + "^");
      assertEquals("*1^:" + wrapped + "^", client.ask("BITFIELD_RO a GET " + field.trim()));
    }
  }
}
