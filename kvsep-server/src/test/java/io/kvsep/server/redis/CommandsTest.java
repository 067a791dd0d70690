package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each command with the exact bytes of its replies, as Redis 7 documents them. */
final class CommandsTest {
  private static final long NOW = 1_000_000_000_000L;
  private static final String NOT_AN_INTEGER = "-ERR value is not an integer or out of range^";
  private static final String NOT_AN_INT =
      "-ERR value is out of range, value must between -2147483648 and 2147483647^";

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
  void setAndGet() throws IOException {
    all(
        "GET a", "$-1^",
        "SET a 1", "+OK^",
        "get a", "$1^1^",
        "SET a 2 NX", "$-1^",
        "SET b 2 XX", "$-1^",
        "SET a 2 XX", "+OK^",
        "SET a 3 GET", "$1^2^",
        "SET c 3 GET", "$-1^",
        "SET c 4 NX GET", "$1^3^",
        "GET c", "$1^3^",
        "SET d \"\"", "+OK^",
        "GET d", "$0^^",
        "SET a 1 NX XX", "-ERR syntax error^",
        "SET a 1 EX", "-ERR syntax error^",
        "SET a 1 EX 1 PX 1", "-ERR syntax error^",
        "SET a 1 EX 1 KEEPTTL", "-ERR syntax error^",
        "SET a 1 EX 0", "-ERR invalid expire time in 'set' command^",
        "SET a 1 EX x", NOT_AN_INTEGER,
        "SET a 1 EX 9223372036854775807", "-ERR invalid expire time in 'set' command^",
        "SETNX a 1", ":0^",
        "SETNX e 1", ":1^",
        "GETSET e 2", "$1^1^",
        "GETDEL e", "$1^2^",
        "GETDEL e", "$-1^",
        "MSET x 1 y 2", "+OK^",
        "MSET x 1 y", "-ERR wrong number of arguments for 'mset' command^",
        "MGET x y z", "*3^$1^1^$1^2^$-1^",
        "MGET x", "*1^$1^1^",
        "MSETNX y 3 z 3", ":0^",
        "MSETNX z 3 w 4", ":1^",
        "SETEX f 0 v", "-ERR invalid expire time in 'setex' command^",
        "PSETEX f -1 v", "-ERR invalid expire time in 'psetex' command^");
  }

  @Test
  void partsOfValues() throws IOException {
    all(
        "APPEND a Hello", ":5^",
        "APPEND a \" World\"", ":11^",
        "STRLEN a", ":11^",
        "STRLEN none", ":0^",
        "GETRANGE a 0 4", "$5^Hello^",
        "GETRANGE a -5 -1", "$5^World^",
        "SUBSTR a 0 -1", "$11^Hello World^",
        "GETRANGE a 5 3", "$0^^",
        "GETRANGE a -1 -5", "$0^^",
        "GETRANGE a 6 1000", "$5^World^",
        "GETRANGE a 100 200", "$0^^",
        "GETRANGE none 0 -1", "$0^^",
        "GETRANGE a -100 0", "$1^H^",
        "GETRANGE a x 1", NOT_AN_INTEGER,
        "SETRANGE a 6 Redis", ":11^",
        "GET a", "$11^Hello Redis^",
        "SETRANGE none 3 \"\"", ":0^",
        "EXISTS none", ":0^",
        "SETRANGE b 2 x", ":3^",
        "GET b", "$3^\0\0x^",
        "SETRANGE a -1 x", "-ERR offset is out of range^",
        "SETRANGE a 536870912 x", "-ERR string exceeds maximum allowed size (proto-max-bulk-len)^");
  }

  @Test
  void counters() throws IOException {
    all(
        "INCR n", ":1^",
        "INCRBY n 41", ":42^",
        "DECR n", ":41^",
        "DECRBY n 50", ":-9^",
        "GET n", "$2^-9^",
        "SET n 9223372036854775807", "+OK^",
        "INCR n", "-ERR increment or decrement would overflow^",
        "GET n", "$19^9223372036854775807^",
        "DECRBY n -9223372036854775808", "-ERR decrement would overflow^",
        "SET n -9223372036854775808", "+OK^",
        "DECR n", "-ERR increment or decrement would overflow^",
        "INCRBY n 1", ":-9223372036854775807^",
        "INCRBY n +1", NOT_AN_INTEGER,
        "INCRBY n \" 1\"", NOT_AN_INTEGER,
        "INCRBY n 01", NOT_AN_INTEGER,
        "INCRBY n 9223372036854775808", NOT_AN_INTEGER,
        "SET n 1x", "+OK^",
        "INCR n", NOT_AN_INTEGER,
        "SET n \"\"", "+OK^",
        "INCR n", NOT_AN_INTEGER,
        "SET f 10.50", "+OK^",
        "INCRBYFLOAT f 0.1", "$4^10.6^",
        "INCRBYFLOAT f -5", "$3^5.6^",
        "SET f 5.0e3", "+OK^",
        "INCRBYFLOAT f 2.0e2", "$4^5200^",
        "INCRBYFLOAT f x", "-ERR value is not a valid float^",
        "INCRBYFLOAT f inf", "-ERR increment would produce NaN or Infinity^",
        "INCRBYFLOAT f 1e5000", "-ERR value is not a valid float^",
        "INCRBYFLOAT f -1e5000", "-ERR value is not a valid float^",
        "INCRBYFLOAT f 1e-5000", "-ERR value is not a valid float^",
        "INCRBYFLOAT f 1e-4950", "$4^5200^",
        "INCRBYFLOAT f 0e-5000", "$4^5200^",
        "INCRBYFLOAT f -5200", "$1^0^",
        "SET f 9e4931", "+OK^",
        "INCRBYFLOAT f 9e4931", "-ERR increment would produce NaN or Infinity^",
        "SET f 1e5000", "+OK^",
        "INCRBYFLOAT f 1", "-ERR value is not a valid float^");
  }

  @Test
  void keys() throws IOException {
    all(
        "MSET a 1 b 2 c 3", "+OK^",
        "EXISTS a b a none", ":3^",
        "TOUCH a none", ":1^",
        "TYPE a", "+string^",
        "TYPE none", "+none^",
        "DEL a a none", ":1^",
        "UNLINK b", ":1^",
        "DBSIZE", ":1^",
        "RENAME none x", "-ERR no such key^",
        "RENAME c d", "+OK^",
        "RENAME d d", "+OK^",
        "GET d", "$1^3^",
        "SET e 5", "+OK^",
        "RENAMENX d e", ":0^",
        "RENAMENX d f", ":1^",
        "COPY f e", ":0^",
        "COPY f e REPLACE", ":1^",
        "COPY f f", "-ERR source and destination objects are the same^",
        "COPY f g DB 3", ":1^",
        "COPY f g DB 16", "-ERR DB index is out of range^",
        "COPY f g DB -2147483648", "-ERR DB index is out of range^",
        "COPY f g DB 3000000000", NOT_AN_INT,
        "COPY f g DB x", NOT_AN_INTEGER,
        "COPY none g", ":0^",
        "SELECT 3", "+OK^",
        "GET g", "$1^3^",
        "KEYS *", "*1^$1^g^",
        "SELECT 16", "-ERR DB index is out of range^",
        "SELECT -1", "-ERR DB index is out of range^",
        "SELECT 3000000000", NOT_AN_INT,
        "SELECT -2147483649", NOT_AN_INT,
        "SELECT x", NOT_AN_INTEGER,
        "SELECT 0", "+OK^",
        "KEYS [d-f]", "*2^$1^e^$1^f^",
        "FLUSHDB", "+OK^",
        "DBSIZE", ":0^",
        "RANDOMKEY", "$-1^",
        "SELECT 3", "+OK^",
        "RANDOMKEY", "$1^g^",
        "FLUSHALL ASYNC", "+OK^",
        "FLUSHALL SOON", "-ERR syntax error^",
        "DBSIZE", ":0^");
  }

  @Test
  void databasesAreKeyspaces() throws IOException {
    all("SELECT 5", "+OK^", "SET a five", "+OK^");

    assertArrayEquals(bytes("five"), redis.store.in(redis.store.keyspace("db5")).get(bytes("a")));
    all("SELECT 6", "+OK^", "MGET a b", "*2^$-1^$-1^");
  }

  @Test
  void expiry() throws IOException {
    all(
        "SET a 1 EX 10",
        "+OK^",
        "TTL a",
        ":10^",
        "PTTL a",
        ":10000^",
        "PEXPIRETIME a",
        ":" + (NOW + 10_000) + "^",
        "EXPIRETIME a",
        ":" + (NOW / 1000 + 10) + "^",
        "TTL none",
        ":-2^",
        "INCR a",
        ":2^",
        "APPEND a 3",
        ":2^",
        "SETRANGE a 0 4",
        ":2^",
        "INCRBYFLOAT a 1",
        "$2^44^",
        "SET a 5 KEEPTTL",
        "+OK^",
        "RENAME a b",
        "+OK^",
        "COPY b c",
        ":1^",
        "PTTL b",
        ":10000^",
        "PTTL c",
        ":10000^",
        "GETEX c",
        "$1^5^",
        "PTTL c",
        ":10000^",
        "GETEX c PERSIST",
        "$1^5^",
        "TTL c",
        ":-1^",
        "GETEX c PX 500",
        "$1^5^",
        "TTL c",
        ":1^",
        "GETEX c EX 0",
        "-ERR invalid expire time in 'getex' command^",
        "GETEX none EX 0",
        "$-1^",
        "GETEX c EX",
        "-ERR syntax error^",
        "PERSIST c",
        ":1^",
        "PERSIST c",
        ":0^",
        "SET b 6",
        "+OK^",
        "TTL b",
        ":-1^",
        "SETEX d 5 v",
        "+OK^",
        "PSETEX e 4999 v",
        "+OK^",
        "SET f v PXAT " + (NOW + 1),
        "+OK^",
        "SET g v EXAT 1",
        "+OK^",
        "GET g",
        "$-1^",
        "EXISTS f",
        ":1^");
    clock.advance(4999);
    all("MGET d e f", "*3^$1^v^$-1^$-1^", "TTL d", ":0^", "PTTL d", ":1^");
    clock.advance(1);
    all("EXISTS d", ":0^", "DBSIZE", ":2^");
  }

  @Test
  void conditionsOfExpire() throws IOException {
    all(
        "EXPIRE a 10",
        ":0^",
        "SET a 1",
        "+OK^",
        "EXPIRE a 10 XX",
        ":0^",
        "EXPIRE a 10 GT",
        ":0^",
        "EXPIRE a 10 NX",
        ":1^",
        "EXPIRE a 20 NX",
        ":0^",
        "EXPIRE a 5 GT",
        ":0^",
        "EXPIRE a 20 GT",
        ":1^",
        "EXPIRE a 30 LT",
        ":0^",
        "PEXPIRE a 1500 LT XX",
        ":1^",
        "PTTL a",
        ":1500^",
        "EXPIREAT a " + (NOW / 1000 + 7),
        ":1^",
        "PEXPIREAT a " + (NOW + 7001),
        ":1^",
        "PTTL a",
        ":7001^",
        "EXPIRE a 1 NX XX",
        "-ERR NX and XX, GT or LT options at the same time are not compatible^",
        "EXPIRE a 1 GT LT",
        "-ERR GT and LT options at the same time are not compatible^",
        "EXPIRE a 1 FOO",
        "-ERR Unsupported option FOO^",
        "EXPIRE a x",
        NOT_AN_INTEGER,
        "PEXPIREAT a 9223372036854775807",
        ":1^",
        "PEXPIRETIME a",
        ":9223372036854775806^",
        "EXPIRE a 9223372036854775807",
        "-ERR invalid expire time in 'expire' command^",
        "PEXPIRE a 9223372036854775807",
        "-ERR invalid expire time in 'pexpire' command^",
        "EXISTS a",
        ":1^",
        "EXPIRE a -1",
        ":1^",
        "EXISTS a",
        ":0^",
        "SET a 1",
        "+OK^",
        "EXPIREAT a 1",
        ":1^",
        "EXISTS a",
        ":0^");
  }

  @Test
  void transactions() throws IOException {
    all(
        "EXEC", "-ERR EXEC without MULTI^",
        "DISCARD", "-ERR DISCARD without MULTI^",
        "MULTI", "+OK^",
        "MULTI", "-ERR MULTI calls can not be nested^",
        "WATCH a", "-ERR WATCH inside MULTI is not allowed^",
        "SET a 1", "+QUEUED^",
        "INCR a", "+QUEUED^",
        "SELECT 1", "+QUEUED^",
        "SET a other", "+QUEUED^",
        "SELECT 0", "+QUEUED^",
        "INCR a x", "-ERR wrong number of arguments for 'incr' command^",
        "EXEC", "-EXECABORT Transaction discarded because of previous errors.^",
        "EXISTS a", ":0^",
        "MULTI", "+OK^",
        "SET a 1", "+QUEUED^",
        "EXEC a",
            "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec'"
                + " command^",
        "EXISTS a", ":0^",
        "EXEC", "-ERR EXEC without MULTI^",
        "MULTI", "+OK^",
        "SET a 1", "+QUEUED^",
        "INCRBY a x", "+QUEUED^",
        "INCR a", "+QUEUED^",
        "SELECT 1", "+QUEUED^",
        "SET a other", "+QUEUED^",
        "SCAN 0", "+QUEUED^",
        "EXEC", "*6^+OK^" + NOT_AN_INTEGER + ":2^+OK^+OK^*2^$1^0^*1^$1^a^",
        "GET a", "$5^other^",
        "SELECT 0", "+OK^",
        "GET a", "$1^2^",
        "MULTI", "+OK^",
        "SET a 9", "+QUEUED^",
        "DISCARD", "+OK^",
        "GET a", "$1^2^",
        "MULTI", "+OK^",
        "EXEC", "*0^",
        "MULTI", "+OK^",
        "AUTH x", "-ERR Command not allowed inside a transaction^",
        "EXEC", "-EXECABORT Transaction discarded because of previous errors.^",
        "WATCH a", "+OK^",
        "SET a 3", "+OK^",
        "MULTI", "+OK^",
        "GET a", "+QUEUED^",
        "EXEC", "*-1^",
        "WATCH a", "+OK^",
        "SET a 3", "+OK^",
        "UNWATCH", "+OK^",
        "MULTI", "+OK^",
        "GET a", "+QUEUED^",
        "EXEC", "*1^$1^3^",
        "WATCH a", "+OK^",
        "SET a 4", "+OK^",
        "MULTI", "+OK^",
        "UNWATCH", "+QUEUED^",
        "SET a 5", "+QUEUED^",
        "EXEC", "*-1^",
        "WATCH a", "+OK^",
        "MULTI", "+OK^",
        "UNWATCH", "+QUEUED^",
        "GET a", "+QUEUED^",
        "EXEC", "*2^+OK^$1^4^");
  }

  /** They would keep all clients waiting, and begin anew with every write of another one. */
  @Test
  void whatGoesOverAllKeysIsRefusedInTransactions() throws IOException {
    for (String command : new String[] {"KEYS *", "DBSIZE", "SAVE", "RANDOMKEY"}) {
      String name = command.split(" ", 2)[0].toLowerCase(Locale.ROOT);
      all(
          "MULTI",
          "+OK^",
          "SET a 1",
          "+QUEUED^",
          command,
          "-ERR Command not allowed inside a transaction: '"
              + name
              + "' takes too long, send it outside of MULTI^",
          "EXEC",
          "-EXECABORT Transaction discarded because of previous errors.^",
          "EXISTS a",
          ":0^");
    }
  }

  /** Time goes on between looking at a number and at its end. */
  @Test
  void aCounterThatEndsMeanwhileBeginsAnew(@TempDir Path other) throws IOException {
    ManualClock moving =
        new ManualClock(NOW) {
          @Override
          public long millis() {
            advance(1);
            return super.millis();
          }
        };
    try (RunningRedis running = RunningRedis.in(other, moving, options -> options);
        RawClient asking = running.connect()) {
      int ended = 0;
      for (int life = 1; life <= 60; life++) {
        asking.expect("SET k 5 PX " + life, "+OK^");
        String sum = asking.ask("INCR k");
        if (asking.ask("PTTL k").equals(":-1^")) {
          assertEquals(":1^", sum, "with " + life + " ms to live");
          ended++;
        }
      }
      assertTrue(ended > 0 && ended < 60, "ended " + ended);
    }
  }

  @Test
  void scansGoOnWhereTheyEnded() throws IOException {
    for (int i = 0; i < 25; i++) {
      client.expect("SET key:" + i + " v", "+OK^");
    }
    all(
        "SCAN x", "-ERR invalid cursor^",
        "SCAN 12345", "-ERR invalid cursor: not of this database, or no longer kept^",
        "SCAN 0 COUNT 0", "-ERR syntax error^",
        "SCAN 0 MATCH", "-ERR syntax error^",
        "SCAN 0 MATCH other:*", "*2^$1^0^*0^",
        "SCAN 0 TYPE list", "*2^$1^0^*0^",
        "SCAN 0 MATCH key:7 COUNT 100 TYPE string", "*2^$1^0^*1^$5^key:7^");
    String first = client.ask("SCAN 0 COUNT 20");
    String cursor = first.substring(first.indexOf('^', 4) + 1, first.indexOf("^*20^"));
    assertTrue(first.contains("*20^"), first);
    String rest = client.ask("SCAN " + cursor + " COUNT 20");
    assertTrue(rest.startsWith("*2^$1^0^*5^"), rest);
    assertEquals(rest, client.ask("SCAN " + cursor + " COUNT 20"), "a repeated cursor");
  }

  @Test
  void keysThatTheStoreCannotHaveAreRefused() throws IOException {
    String empty = "-ERR a key must not be empty in this store^";
    all(
        "SET \"\" 1", empty,
        "GET \"\"", empty,
        "MSET a 1 \"\" 2", empty,
        "EXISTS a", ":0^",
        "MULTI", "+OK^",
        "DEL \"\"", empty,
        "EXEC", "-EXECABORT Transaction discarded because of previous errors.^");
    String longest = "k".repeat(65_535);
    assertEquals("+OK^", client.command("SET", longest, "v"));
    assertEquals("$1^v^", client.command("GET", longest));
    assertEquals(
        "-ERR a key must not be longer than 65535 bytes, has 65536^",
        client.command("GET", longest + "k"));
  }

  @Test
  void connectionAndServer() throws IOException {
    all(
        "PING", "+PONG^",
        "PING hello", "$5^hello^",
        "PING a b", "-ERR wrong number of arguments for 'ping' command^",
        "ECHO hello", "$5^hello^",
        "LPUSH a b", "-ERR unknown command 'LPUSH', with args beginning with: 'a' 'b' ^",
        "FOO", "-ERR unknown command 'FOO', with args beginning with: ^",
        "GET", "-ERR wrong number of arguments for 'get' command^",
        "CLIENT GETNAME", "$-1^",
        "CLIENT SETNAME me", "+OK^",
        "CLIENT GETNAME", "$2^me^",
        "CLIENT SETNAME \"m e\"",
            "-ERR Client names cannot contain spaces, newlines or special characters.^",
        "CLIENT SETINFO LIB-NAME test", "+OK^",
        "CLIENT SETINFO OTHER \"a b\"", "-ERR Unrecognized option 'OTHER'^",
        "CLIENT SETINFO LIB-NAME \"a b\"",
            "-ERR LIB-NAME cannot contain spaces, newlines or special characters.^",
        "CLIENT SETINFO lib-ver \"1 2\"",
            "-ERR lib-ver cannot contain spaces, newlines or special characters.^",
        "CLIENT NO-EVICT on", "+OK^",
        "CLIENT NO-TOUCH off", "+OK^",
        "CLIENT PAUSE 1", "-ERR unknown subcommand 'PAUSE'. Try CLIENT HELP.^",
        "CONFIG GET databases", "*2^$9^databases^$2^16^",
        "CONFIG GET none", "*0^",
        "CONFIG SET a b", "-ERR unknown subcommand 'SET'. Try CONFIG HELP.^",
        "TIME", "*2^$10^1000000000^$1^0^",
        "SAVE", "+OK^",
        "AUTH x",
            "-ERR AUTH <password> called without any password configured for the default user."
                + " Are you sure your configuration is correct?^",
        "AUTH default x", "+OK^",
        "COMMAND INFO get none", "*2^*10^$3^get^:2^*1^+readonly^:1^:1^:1^*0^*0^*0^*0^$-1^",
        "COMMAND DOCS get none",
            "*2^$3^get^*6^$7^summary^$24^Gives the value of a key^$5^since^$5^1.0.0^"
                + "$5^group^$6^string^",
        "HELLO 4", "-NOPROTO unsupported protocol version^",
        "HELLO x", "-ERR Protocol version is not an integer or out of range^",
        "HELLO 2 FOO", "-ERR Syntax error in HELLO option 'FOO'^",
        "SELECT 4", "+OK^",
        "RESET", "+RESET^",
        "CLIENT GETNAME", "$-1^");
    assertTrue(client.ask("INFO").contains("redis_version:"));
    assertTrue(client.ask("INFO replication").contains("role:master"));
    assertTrue(client.ask("CLIENT LIST").contains("addr=127.0.0.1:"));
    client.expect("QUIT", "+OK^");
    assertTrue(client.isEnded());
  }

  /** redis-cli shows all three, and reads at random where one of the last two is missing. */
  @Test
  void everyCommandHasASummaryAnOriginAndAGroup() throws IOException {
    List<Command> commands = redis.server.state().commands().all();
    StringBuilder all = new StringBuilder("*" + 2 * commands.size() + "^");
    for (Command command : commands) {
      String docs = client.ask("COMMAND DOCS " + command.name());
      assertTrue(
          docs.matches(
              "\\*2\\^\\$\\d+\\^"
                  + command.name()
                  + "\\^\\*6\\^\\$7\\^summary\\^\\$\\d+\\^[^^]+\\^"
                  + "\\$5\\^since\\^\\$\\d+\\^\\d+\\.\\d+\\.\\d+\\^"
                  + "\\$5\\^group\\^\\$\\d+\\^"
                  + "(bitmap|cluster|connection|generic|server|string|transactions)\\^"),
          docs);
      all.append(docs, docs.indexOf('^') + 1, docs.length());
    }
    client.expect("COMMAND DOCS", all.toString());
  }

  @Test
  void versionThreeOfTheProtocol() throws IOException {
    String hello = client.ask("HELLO 3 SETNAME me");
    assertEquals(
        "%7^$6^server^$5^redis^$7^version^$5^7.2.0^$5^proto^:3^$2^id^:1^"
            + "$4^mode^$10^standalone^$4^role^$6^master^$7^modules^*0^",
        hello);
    all(
        "CLIENT GETNAME", "$2^me^",
        "GET a", "_^",
        "MGET a b", "*2^_^_^",
        "CONFIG GET databases", "%1^$9^databases^$2^16^",
        "WATCH a", "+OK^",
        "SET a 1", "+OK^",
        "MULTI", "+OK^",
        "EXEC", "_^");
    assertTrue(client.ask("INFO").startsWith("="));
    client.expect("HELLO 2", client.ask("HELLO 2"));
    client.expect("GET none", "$-1^");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
