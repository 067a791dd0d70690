package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.server.cli.StubServer.Answer;
import io.kvsep.server.json.JsonText;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands for a cluster, against a server that answers as a node does. */
final class ClusterCommandTest {
  private static final List<String> COMMANDS =
      List.of("status", "add", "remove", "transfer", "snapshot", "backup", "restore", "demo");

  private static final String STATUS =
      """
      {"cluster":"shop","node":"a","groups":[{"shard":0,"leader":"b","term":3,"commitIndex":1200,\
      "extra":{"x":[1]},"members":[\
      {"node":"a","address":"127.0.0.1:7101","role":"FOLLOWER","appliedIndex":1190,"lag":10},\
      {"node":"b","address":"127.0.0.1:7102","role":"LEADER","appliedIndex":1200,"lag":0},\
      {"node":"c","address":"127.0.0.1:7103","role":null,"appliedIndex":null,"lag":null}]}]}
      """;

  @TempDir Path folder;
  private StubServer server;

  @BeforeEach
  void serve() throws IOException {
    server = new StubServer();
  }

  @AfterEach
  void close() {
    server.close();
  }

  private CommandRun cluster(String... words) {
    return CommandRun.of(
        Stream.of(List.of("cluster"), Arrays.asList(words), List.of("--url", server.url()))
            .flatMap(List::stream)
            .toArray(String[]::new));
  }

  private void assertFails(String message, String... words) {
    assertEquals(server.url() + " answers " + message, cluster(words).failsWith(1));
  }

  @Test
  void statusIsATable() {
    server.on("GET /v1/cluster", Answer.ok(STATUS));

    assertEquals(
        List.of(
            "cluster shop, as node a knows it",
            "",
            "shard  node          address                role        term    committed"
                + "      applied      lag",
            "    0  a             127.0.0.1:7101         follower       3        1,200"
                + "        1,190       10",
            "    0  b             127.0.0.1:7102         leader         3        1,200"
                + "        1,200        0",
            "    0  c             127.0.0.1:7103         -              3        1,200"
                + "            -        -"),
        cluster("status").succeeds().lines());
    assertEquals(STATUS, cluster("status", "--json").succeeds().text());
  }

  @Test
  void aShardWithoutALeaderIsAFailure() {
    server.on("GET /v1/cluster", Answer.ok(STATUS.replace("\"leader\":\"b\"", "\"leader\":null")));

    CommandRun run = cluster("status");

    assertEquals("no leader in shard 0", run.failsWith(1));
    assertEquals(6, run.lines().size());
    assertEquals("no leader in shard 0", cluster("status", "--json").failsWith(1));
  }

  @Test
  void anAnswerThatIsNoStatusIsAFailure() {
    assertFails("status 404: there is nothing here", "status");
    for (String answer : List.of("[]", "{}", "{\"cluster\":\"c\",\"node\":\"a\"", "", "x")) {
      server.on("GET /v1/cluster", Answer.ok(answer));
      String message = cluster("status").failsWith(1);
      assertTrue(
          message.startsWith(server.url() + " answers with no status of a cluster"), message);
    }
  }

  @Test
  void aMemberIsAddedAndAddedAgain() {
    server.on("POST /v1/cluster/members", Answer.ok("{}"));

    for (int i = 0; i < 2; i++) {
      assertEquals(
          "d is a member, at 127.0.0.1:7104\n",
          cluster("add", "d", "127.0.0.1:7104").succeeds().text());
      assertEquals(
          Map.of("node", "d", "address", "127.0.0.1:7104"),
          JsonText.object(server.asked().get(i).body()));
    }
    server.on("POST /v1/cluster/members", Answer.problem(503, "the node did not catch up"));
    assertFails("status 503: the node did not catch up", "add", "d", "127.0.0.1:7104");
  }

  @Test
  void aMemberIsRemoved() {
    server.on("DELETE /v1/cluster/members/a%2F%20b", Answer.ok("{}"));

    assertEquals("a/ b is no member\n", cluster("remove", "a/ b").succeeds().text());
    server.on("DELETE /v1/cluster/members/c", Answer.problem(503, "there is no leader"));
    assertFails("status 503: there is no leader", "remove", "c");
  }

  @Test
  void leadershipIsTransferred() {
    server.on("POST /v1/cluster/leader", Answer.ok("{}"));

    assertEquals("b leads\n", cluster("transfer", "b").succeeds().text());
    assertEquals(Map.of("node", "b"), JsonText.object(server.asked().get(0).body()));
    assertEquals("b leads shard 2\n", cluster("transfer", "b", "--shard", "2").succeeds().text());
    assertTrue(server.asked().get(1).body().contains("\"shard\":2"));
    server.on("POST /v1/cluster/leader", Answer.problem(404, "x is no member"));
    assertFails("status 404: x is no member", "transfer", "x");
  }

  @Test
  void aSnapshotTellsItsIndex() {
    server.on("POST /v1/cluster/snapshot", Answer.ok("{\"index\":12345}"));

    assertEquals("a snapshot has the log up to 12,345\n", cluster("snapshot").succeeds().text());
    server.on(
        "POST /v1/cluster/snapshot",
        Answer.ok("{\"groups\":[{\"shard\":0,\"index\":7},{\"shard\":1,\"index\":8}]}"));
    assertEquals(
        "a snapshot of shard 0 has the log up to 7\na snapshot of shard 1 has the log up to 8\n",
        cluster("snapshot").succeeds().text());
    server.on("POST /v1/cluster/snapshot", Answer.ok("{}"));
    assertEquals("the answer has no index: {}", cluster("snapshot").failsWith(1));
  }

  @Test
  void aBackupIsWrittenToANewFile() throws IOException {
    byte[] content = new byte[200_000];
    Arrays.fill(content, (byte) 7);
    Path file = folder.resolve("backup");
    server.on("GET /v1/backup", new Answer(200, content, 0));

    String report = cluster("backup", file.toString()).succeeds().text();

    assertTrue(report.matches("wrote 200\\.0 kB in \\d+\\.\\d\\d s\n"), report);
    assertArrayEquals(content, Files.readAllBytes(file));
    assertEquals(file + ": exists already", cluster("backup", file.toString()).failsWith(1));
    assertEquals(List.of("GET /v1/backup"), server.lines());
  }

  @Test
  void aBackupThatBreaksOffLeavesNoFile() {
    Path file = folder.resolve("backup");
    server.on("GET /v1/backup", new Answer(200, new byte[100_000], 200_000));
    cluster("backup", file.toString()).failsWith(1);
    assertFalse(Files.exists(file));

    server.on("GET /v1/backup", Answer.problem(409, "another backup is under way; try again"));
    assertFails("status 409: another backup is under way; try again", "backup", file.toString());
    assertFalse(Files.exists(file));
  }

  private Path backup() throws IOException {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    try (KvStore store = KvStore.open(folder.resolve("source"))) {
      for (int i = 0; i < 30; i++) {
        store.put(("key" + i).getBytes(UTF_8), new byte[100_000]);
      }
      store.in(store.keyspace("a b")).put(new byte[] {1}, new byte[] {2}, Duration.ofHours(1));
      store.in(store.keyspace("kvsep.cluster")).put(new byte[] {1}, new byte[] {2});
      store.backup(output, 0);
    }
    return Files.write(folder.resolve("backup"), output.toByteArray());
  }

  @Test
  void aBackupIsRestoredInBatches() throws IOException {
    server.on("GET /v1/cluster", Answer.ok(STATUS));
    server.on("PUT /v1/keyspaces/a%20b", new Answer(204, new byte[0], -1));
    server.on("POST /v1/batch", Answer.ok("{}"));

    String report =
        cluster("restore", backup().toString(), "--work-dir", folder.toString()).succeeds().text();

    assertTrue(report.startsWith("restored 31 entries in "), report);
    List<Map<String, Object>> puts = new ArrayList<>();
    server.asked().stream()
        .filter(asked -> asked.line().equals("POST /v1/batch"))
        .forEach(asked -> asked.body().lines().map(JsonText::object).forEach(puts::add));
    assertEquals(31, puts.size());
    assertEquals("put", puts.get(0).get("op"));
    assertEquals("a2V5MA==", puts.get(0).get("keyBase64"));
    Map<String, Object> last = puts.get(30);
    assertEquals("a b", last.get("keyspace"));
    assertEquals("Ag==", last.get("valueBase64"));
    long millis = CommandRun.number(last, "ttlMillis");
    assertTrue(millis > 0 && millis <= 3_600_000, () -> "time to live " + millis);
    List<String> lines = server.lines();
    assertTrue(lines.size() > 5, lines::toString);
    assertTrue(lines.indexOf("PUT /v1/keyspaces/a%20b") == lines.size() - 2, lines::toString);
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(2, left.count());
    }
  }

  @Test
  void aRestoreThatIsRefusedSaysWhy() throws IOException {
    Path backup = backup();
    assertFails("status 404: there is nothing here", "restore", backup.toString());
    server.on("GET /v1/cluster", Answer.ok(STATUS));
    server.on("POST /v1/batch", Answer.problem(503, "there is no leader"));
    assertFails("status 503: there is no leader", "restore", backup.toString());
    Path none = folder.resolve("none");
    assertEquals(
        none + ": no such file or directory", cluster("restore", none.toString()).failsWith(1));
    Path cut = Files.write(folder.resolve("cut"), Arrays.copyOf(Files.readAllBytes(backup), 500));
    cluster("restore", cut.toString()).failsWith(1);
    assertEquals(1, server.lines().stream().filter(line -> line.equals("POST /v1/batch")).count());
  }

  @Test
  void theTokenIsShown() throws IOException {
    server.on("GET /v1/cluster", Answer.ok(STATUS));
    Path token = Files.writeString(folder.resolve("token"), "secret\n");

    cluster("status").succeeds();
    cluster("status", "--token-file", token.toString()).succeeds();

    assertEquals(
        List.of("", "Bearer secret"),
        server.asked().stream().map(StubServer.Asked::token).toList());
  }

  @Test
  void aServerThatIsNotThereIsNamed() throws IOException {
    String url;
    try (ServerSocket free = new ServerSocket(0)) {
      url = "http://127.0.0.1:" + free.getLocalPort();
    }
    for (String command : List.of("status", "snapshot", "remove a", "transfer a", "add a b:1")) {
      String[] words = ("cluster " + command + " --url " + url).split(" ");
      assertEquals("no server at " + url, CommandRun.of(words).failsWith(1));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "unknown",
        "status extra",
        "status --url nonsense",
        "status --url ftp://x",
        "add",
        "add d",
        "add d address",
        "add d a:b",
        "add d 127.0.0.1:1 extra",
        "remove",
        "transfer",
        "snapshot extra",
        "backup",
        "restore",
        "demo extra",
        "demo --clients 0",
        "demo --clients x"
      })
  void wrongUsageIsOneLineThatLeadsToTheHelp(String line) {
    CommandRun run = CommandRun.of(("cluster " + line).strip().split(" "));

    String message = run.failsWith(2);
    assertTrue(message.matches(".*\\(see kvsep cluster( [a-z]+)? --help\\)"), message);
    assertEquals(0, run.output().length);
  }

  @Test
  void everyCommandHasHelp() {
    List<String> listed =
        CommandRun.of("cluster", "--help").succeeds().lines().stream()
            .filter(line -> line.matches("  [a-z]+ .*"))
            .map(line -> line.strip().replaceAll(" .*", ""))
            .toList();
    assertEquals(COMMANDS, listed);
    for (String command : COMMANDS) {
      String help = CommandRun.of("cluster", command, "--help").succeeds().text();
      assertTrue(help.startsWith("Usage: kvsep cluster " + command), help);
      assertFalse(help.contains("stacktrace"), help);
      assertFalse(help.matches("(?s).*\\n[a-z-]+\\n[a-z].*"), help);
    }
    String message = CommandRun.of("cluster", "statsu").failsWith(2);
    assertEquals(
        "no such command: statsu, did you mean status? (see kvsep cluster --help)", message);
  }
}
