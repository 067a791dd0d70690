package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Bytes on the sockets of the JDK: how commands are framed, and what becomes of those that are not.
 */
final class ProtocolTest {
  @TempDir Path directory;
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.onPlainSockets(directory);
    client = redis.connect();
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    redis.close();
  }

  @Test
  void commandsMayComeInPieces() throws IOException {
    for (char c : "*3^$3^SET^$1^k^$4^v^v^*2^$3^GET^$1^k^PING^".toCharArray()) {
      client.send(String.valueOf(c));
    }
    assertEquals("+OK^", client.reply());
    assertEquals("$4^v^v^", client.reply());
    assertEquals("+PONG^", client.reply());
  }

  @Test
  void emptyCommandsAreNone() throws IOException {
    client.send("*0^*-1^^   ^PING^");
    assertEquals("+PONG^", client.reply());
  }

  @Test
  void linesMayEndWithoutReturnAndHoldQuotes() throws IOException {
    client.send("set k \"a\\x00\\n b\"\nget k\n");
    assertEquals("+OK^", client.reply());
    assertEquals("$5^a\0\n b^", client.reply());
  }

  /** A page in a browser on this machine can have that sent to any port, and not be asked. */
  @Test
  void whatABrowserSendsIsNoListOfCommands() throws IOException {
    client.expect("SET k v", "+OK^");
    for (String head : new String[] {"POST / HTTP/1.1^", "PUT / HTTP/1.1^Host: localhost:6379^"}) {
      try (RawClient browser = redis.connect()) {
        browser.send(head + "Content-Length: 11^^DEL k^FLUSHALL^SET x y^");
        browser.drain();
      }
    }
    client.expect("GET k", "$1^v^");
    client.expect("EXISTS x", ":0^");
  }

  @Test
  void protocolErrorsAreSaidAndEndTheConnection() throws IOException {
    String[][] cases = {
      {"*x^", "invalid multibulk length"},
      {"*01^", "invalid multibulk length"},
      {"*1048577^", "invalid multibulk length"},
      {"*99999999999999999999^", "invalid multibulk length"},
      {"*1^x", "expected '$', got 'x'"},
      {"*1^$x^", "invalid bulk length"},
      {"*1^$-1^", "invalid bulk length"},
      {"*1^$536870913^", "invalid bulk length"},
      {"*2^$3^GET^$1^ab^", "expected CR LF behind a bulk string"},
      {"GET \"a^", "unbalanced quotes in request"},
      {"*" + "1".repeat(70_000), "too big mbulk count string"},
      {"*1^$" + "1".repeat(70_000), "too big bulk count string"},
      {"a".repeat(70_000), "too big inline request"},
    };
    for (String[] each : cases) {
      try (RawClient broken = redis.connect()) {
        broken.send("PING^" + each[0]);
        assertEquals("+PONG^", broken.reply());
        assertEquals("-ERR Protocol error: " + each[1] + "^", broken.reply());
        assertTrue(broken.isEnded(), each[1]);
      }
    }
    client.expect("PING", "+PONG^");
  }

  @Test
  void repliesComeInTheOrderOfTheCommands() throws IOException {
    StringBuilder sent = new StringBuilder();
    StringBuilder expected = new StringBuilder();
    for (int i = 0; i < 3000; i++) {
      switch (i % 6) {
        case 0 -> add(sent, "SET k" + i + " " + i, expected, "+OK^");
        case 1 -> add(sent, "GET k" + (i - 1), expected, bulk(i - 1));
        case 2 -> add(sent, "INCR n", expected, ":" + (i / 6 + 1) + "^");
        case 3 -> add(sent, "PING " + i, expected, bulk(i));
        case 4 -> add(sent, "DEL k" + (i - 4), expected, ":1^");
        default ->
            add(
                sent,
                i % 60 == 5 ? "DBSIZE" : "NONE",
                expected,
                i % 60 == 5 ? ":1^" : "-ERR unknown command 'NONE', with args beginning with: ^");
      }
    }
    client.send(sent.toString());
    StringBuilder replies = new StringBuilder();
    for (int i = 0; i < 3000; i++) {
      replies.append(client.reply());
    }
    assertEquals(expected.toString(), replies.toString());
  }

  @Test
  void aClientMayEndItsSideFirst() throws IOException {
    client.send("SET a 1^GET a^DBSIZE^");
    client.socket.shutdownOutput();

    assertEquals("+OK^", client.reply());
    assertEquals("$1^1^", client.reply());
    assertEquals(":1^", client.reply());
    assertTrue(client.isEnded());
  }

  @Test
  void largeValuesGoThroughWhole() throws IOException {
    String value = "0123456789".repeat(500_000);
    assertEquals("+OK^", client.command("SET", "large", value));
    assertEquals("$" + value.length() + "^" + value + "^", client.command("GET", "large"));
    assertEquals("$10^9012345678^", client.ask("GETRANGE large 9 18"));
  }

  private static String bulk(int number) {
    String text = Integer.toString(number);
    return "$" + text.length() + "^" + text + "^";
  }

  private static void add(StringBuilder sent, String line, StringBuilder expected, String reply) {
    sent.append(line).append('^');
    expected.append(reply);
  }
}
