package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Connections are described, and closed by others. */
final class ClientKillTest {
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

  private String field(String line, String name) {
    int at = (" " + line).indexOf(" " + name + "=") + name.length() + 1;
    return line.substring(at, (line + " ").indexOf(' ', at));
  }

  @Test
  void aConnectionIsDescribedByTheFieldsOfRedis() throws IOException {
    all("CLIENT SETNAME me", "+OK^", "SELECT 4", "+OK^", "WATCH a b", "+OK^");
    String line = client.ask("CLIENT INFO").split("\\^", -1)[1].trim();
    List<String> names = new ArrayList<>();
    for (String pair : line.split(" ", -1)) {
      names.add(pair.substring(0, pair.indexOf('=')));
    }
    assertEquals(
        "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem"
            + " multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver"
            + " tot-net-in tot-net-out tot-cmds",
        String.join(" ", names));
    assertEquals("me", field(line, "name"));
    assertEquals("4", field(line, "db"));
    assertEquals("client|info", field(line, "cmd"));
    assertEquals("N", field(line, "flags"));
    assertEquals("-1", field(line, "multi"));
    assertEquals("2", field(line, "watch"));
    assertEquals("3", field(line, "tot-cmds"));
    assertEquals("15", field(line, "tot-net-out"));
    assertEquals(
        "" + "CLIENT SETNAME me..SELECT 4..WATCH a b..CLIENT INFO..".length(),
        field(line, "tot-net-in"));

    all("MULTI", "+OK^", "SET a 1", "+QUEUED^", "GET a", "+QUEUED^");
    try (RawClient other = redis.connect()) {
      String seen = other.ask("CLIENT LIST").split("\\^", -1)[1].split("\n", -1)[0];
      assertEquals("x", field(seen, "flags"));
      assertEquals("2", field(seen, "multi"));
      assertFalse(field(seen, "multi-mem").equals("0"), seen);
    }
  }

  @Test
  void someConnectionsAreListed() throws IOException {
    client.expect("CLIENT ID", ":1^");
    try (RawClient other = redis.connect()) {
      other.expect("CLIENT ID", ":2^");
      assertTrue(client.ask("CLIENT LIST").contains("id=2 "));
      assertFalse(client.ask("CLIENT LIST ID 1 3").contains("id=2 "));
      assertTrue(client.ask("CLIENT LIST ID 3 2").contains("id=2 "));
      assertTrue(client.ask("CLIENT LIST TYPE normal").contains("id=2 "));
      all(
          "CLIENT LIST TYPE pubsub", "$0^^",
          "CLIENT LIST TYPE foo", "-ERR Unknown client type 'foo'^",
          "CLIENT LIST ID x", "-ERR Invalid client ID^",
          "CLIENT LIST ID", "-ERR syntax error^",
          "CLIENT LIST foo", "-ERR syntax error^");
    }
  }

  @Test
  void aConnectionIsClosedByItsAddress() throws IOException {
    RawClient other = redis.connect();
    other.expect("PING", "+PONG^");
    String address = "127.0.0.1:" + other.socket.getLocalPort();

    client.expect("CLIENT KILL " + address, "+OK^");

    assertTrue(other.isEnded());
    all("CLIENT KILL " + address, "-ERR No such client^", "PING", "+PONG^");
  }

  @Test
  void connectionsAreClosedByWhatTheyAre() throws IOException {
    client.expect("CLIENT ID", ":1^");
    List<RawClient> others = new ArrayList<>();
    for (int i = 2; i <= 7; i++) {
      others.add(redis.connect());
      others.get(i - 2).expect("CLIENT ID", ":" + i + "^");
    }
    clock.advance(5000);
    RawClient young = redis.connect();
    young.expect("PING", "+PONG^");
    String second = "127.0.0.1:" + others.get(1).socket.getLocalPort();
    all(
        "CLIENT KILL ID 2",
        ":1^",
        "CLIENT KILL ID 2",
        ":0^",
        "CLIENT KILL ADDR " + second,
        ":1^",
        "CLIENT KILL ID 1",
        ":0^",
        "CLIENT KILL TYPE pubsub",
        ":0^",
        "CLIENT KILL ID 4 LADDR 127.0.0.1:" + redis.port() + " USER default TYPE normal",
        ":1^",
        "CLIENT KILL MAXAGE 6",
        ":0^",
        "CLIENT KILL maxage 5",
        ":3^");
    for (RawClient other : others) {
      assertTrue(other.isEnded());
    }
    young.expect("PING", "+PONG^");
    all("CLIENT KILL SKIPME yes", ":1^", "CLIENT KILL SKIPME no", ":1^");
    assertTrue(young.isEnded());
    assertTrue(client.isEnded());
  }

  @Test
  void whatIsToBeClosedMustMakeSense() throws IOException {
    all(
        "CLIENT KILL", "-ERR wrong number of arguments for 'client|kill' command^",
        "CLIENT KILL ID 1 foo", "-ERR syntax error^",
        "CLIENT KILL foo bar", "-ERR syntax error^",
        "CLIENT KILL ID x", "-ERR client-id should be greater than 0^",
        "CLIENT KILL ID 0", "-ERR client-id should be greater than 0^",
        "CLIENT KILL MAXAGE 0", "-ERR maxage should be greater than 0^",
        "CLIENT KILL TYPE foo", "-ERR Unknown client type 'foo'^",
        "CLIENT KILL USER foo", "-ERR No such user 'foo'^",
        "CLIENT KILL SKIPME foo", "-ERR syntax error^",
        "PING", "+PONG^");
  }

  @Test
  void aConnectionThatClosesItselfHasItsReply() throws IOException {
    client.send("CLIENT KILL ID 1 SKIPME no^SET a 1^");

    assertEquals(":1^", client.reply());
    assertTrue(client.isEnded());
    try (RawClient other = redis.connect()) {
      other.expect("EXISTS a", ":0^");
    }
  }
}
