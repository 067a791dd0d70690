package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.cli.StubServer.Answer;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** That the demo of a cluster would notice what it looks for. */
@Timeout(60)
final class ClusterDemoChecksTest {
  private static final List<Integer> COUNTS = List.of(3, 0, 2);

  @TempDir Path folder;
  private StubServer server;
  private ServerConnection connection;

  @BeforeEach
  void serve() throws IOException {
    server = new StubServer();
    connection = new ServerConnection(URI.create(server.url()), null);
  }

  @AfterEach
  void close() {
    server.close();
  }

  private static TreeMap<String, byte[]> whole() {
    TreeMap<String, byte[]> entries = new TreeMap<>();
    for (String key :
        List.of(
            "client00/00000001",
            "client00/00000002",
            "client00/00000003",
            "client02/00000001",
            "client02/00000002")) {
      entries.put(key, DemoClients.value(key));
    }
    return entries;
  }

  private static Answer scan(Map<String, byte[]> entries, String cursor) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream output = new DataOutputStream(bytes)) {
      for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
        write(output, entry.getKey().getBytes(UTF_8), entry.getValue());
      }
      if (!cursor.isEmpty()) {
        write(output, new byte[0], cursor.getBytes(US_ASCII));
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return new Answer(200, bytes.toByteArray(), 0);
  }

  private static void write(DataOutputStream output, byte[] key, byte[] value) throws IOException {
    output.writeInt(key.length);
    output.writeInt(value.length);
    output.write(key);
    output.write(value);
  }

  private ReplicaContent content(Map<String, byte[]> entries) throws Exception {
    server.on("GET /v1/scan", scan(entries, ""));
    return ReplicaContent.read(connection, COUNTS);
  }

  @Test
  void aWholeReplicaIsRecognizedThoughItComesInParts() throws Exception {
    TreeMap<String, byte[]> entries = whole();
    ReplicaContent once = content(entries);

    server.on(
        "GET /v1/scan",
        asked ->
            asked.line().endsWith("cursor=next")
                ? scan(entries.tailMap("client00/00000003"), "")
                : scan(entries.headMap("client00/00000003"), "next"));

    assertEquals(new ReplicaContent(5, 0, 0, once.digest()), once);
    assertEquals(once, ReplicaContent.read(connection, COUNTS));
  }

  @Test
  void lostAndFalseEntriesAreCounted() throws Exception {
    String digest = content(whole()).digest();
    for (String lost : whole().keySet()) {
      TreeMap<String, byte[]> entries = whole();
      entries.remove(lost);
      ReplicaContent content = content(entries);
      assertEquals(1, content.missing(), lost);
      assertEquals(0, content.wrong(), lost);
      assertNotEquals(digest, content.digest());
    }
    for (String extra : List.of("a", "client00/00000004", "client01/00000001", "z")) {
      TreeMap<String, byte[]> entries = whole();
      entries.put(extra, DemoClients.value(extra));
      ReplicaContent content = content(entries);
      assertEquals(0, content.missing(), extra);
      assertEquals(1, content.wrong(), extra);
    }
    TreeMap<String, byte[]> changed = whole();
    changed.put("client02/00000001", new byte[500]);
    assertTrue(content(changed).wrong() > 0);
    assertEquals(5, content(Map.of()).missing());
  }

  @Test
  void clientsRepeatWhatIsNotAcknowledged() throws Exception {
    Map<String, String> stored = new ConcurrentHashMap<>();
    AtomicInteger count = new AtomicInteger();
    try (StubServer refusing = new StubServer();
        StubServer taking =
            new StubServer() {
              @Override
              Answer answer(Asked asked) {
                // Every fifth write is taken, and its client does not hear of it.
                stored.merge(asked.line(), asked.body(), (old, same) -> same);
                return count.incrementAndGet() % 5 == 0
                    ? Answer.problem(503, "there is no leader")
                    : new Answer(204, new byte[0], -1);
              }
            }) {
      ServerConnection first = new ServerConnection(URI.create(refusing.url()), null);
      ServerConnection second = new ServerConnection(URI.create(taking.url()), null);
      try (DemoClients clients = new DemoClients(3, List.of(first, second))) {
        clients.start();
        clients.awaitMore(60);
        List<Integer> counts = clients.stop();

        int written = counts.stream().mapToInt(Integer::intValue).sum();
        assertTrue(written >= 60, () -> "written " + written);
        assertEquals(written, clients.acknowledged());
        assertEquals(written, stored.size());
        for (int i = 0; i < counts.size(); i++) {
          String last = "PUT /v1/keys/" + DemoClients.key(i, counts.get(i));
          assertTrue(stored.containsKey(last), last);
        }
      }
    }
  }

  @Test
  void aNodeThatDoesNotStartSaysWhy() throws Exception {
    List<String> program =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            ClusterDemoNode.class.getName());
    try (DemoNode node = new DemoNode("a", "127.0.0.1:1", folder, program)) {
      var listens = node.start(List.of("--nonsense"));
      CommandFailure failure = assertThrows(CommandFailure.class, () -> node.awaitServer(listens));
      String message = String.valueOf(failure.getMessage());
      assertTrue(message.startsWith("node a does not start: kvsep: Unknown option"), message);
      assertTrue(Files.size(folder.resolve("a.log")) > 0);
    }
  }

  @Test
  void aNodeEndsWithTheInputOfItsProcess() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                ClusterDemoNode.class.getName(),
                "serve",
                "--dir",
                folder.resolve("store").toString(),
                "--port",
                "0",
                "--redis-port",
                "-1")
            .start();
    try {
      assertTrue(process.inputReader().readLine().contains(" at http://"));
      process.getOutputStream().close();
      assertEquals(1, process.waitFor());
    } finally {
      process.destroyForcibly();
    }
  }
}
