package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command in a process of its own, since it ends with that. */
final class ServeCommandTest {
  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @TempDir Path folder;

  @Test
  void aTerminatedServerSyncsAndLeavesASoundStore() throws Exception {
    try (ServerProcess server = ServerProcess.at(folder.resolve("store"))) {
      assertEquals(204, put(server.http(), "/v1/keys/a", "x", false));
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.redisPort())) {
        socket.getOutputStream().write("GET a\r\nSET b y\r\n".getBytes(UTF_8));
        String answers = "$1\r\nx\r\n+OK\r\n";
        assertEquals(
            answers, new String(socket.getInputStream().readNBytes(answers.length()), UTF_8));
      }
      String stats = text(server.http(), "/v1/stats");
      assertTrue(stats.contains("\"commands\":{\"read\":{\"count\":1,"), stats);
      assertTrue(stats.contains("\"durability\":\"sync every 1000 ms\""), stats);
      assertTrue(stats.contains("\"freeDiskBytes\":"), stats);
      String metrics = text(server.http(), "/metrics");
      assertTrue(
          metrics.contains("kvsep_redis_commands_seconds_count{operation=\"write\"} 1"), metrics);
      assertEquals(0, server.terminate());
      assertEquals("", server.errors());
    }
    try (KvStore store = KvStore.open(folder.resolve("store"))) {
      assertArrayEquals("x".getBytes(UTF_8), store.get("a".getBytes(UTF_8)));
      assertArrayEquals("y".getBytes(UTF_8), store.get("b".getBytes(UTF_8)));
      assertEquals(0, store.stats().replayedBytes());
    }
  }

  /** It is stopped one listener after the other, and clients may hold the first one up. */
  @Test
  void aServerThatIsStoppingTakesNoRequests() throws Exception {
    int count = 40;
    int length = 1_000_000;
    try (ServerProcess server = ServerProcess.at(folder.resolve("store"));
        Socket slow = new Socket(InetAddress.getLoopbackAddress(), server.redisPort())) {
      assertEquals(204, put(server.http(), "/v1/keys/a", "v".repeat(length), false));
      slow.getOutputStream().write("GET a\r\n".repeat(count).getBytes(UTF_8));
      InputStream replies = slow.getInputStream();
      assertEquals('$', replies.read());

      server.askToStop();

      int status = 200;
      while (status == 200) {
        status = status(server.http(), "/v1/stats");
      }
      assertEquals(503, status);
      int frame = ("$" + length + "\r\n\r\n").length();
      replies.skipNBytes((long) count * (frame + length) - 1);
      assertEquals(-1, replies.read());
      assertEquals(0, server.terminate());
      assertEquals("", server.errors());
    }
  }

  @Test
  void aKilledServerLosesNothingAcknowledgedAsSynced() throws Exception {
    List<String> acknowledged = new ArrayList<>();
    try (ServerProcess server = ServerProcess.at(folder.resolve("store"))) {
      for (int i = 0; i < 50; i++) {
        assertEquals(204, put(server.http(), "/v1/keys/k" + i, "v" + i, true));
        acknowledged.add("k" + i);
      }
    }
    try (KvStore store = KvStore.open(folder.resolve("store"))) {
      for (String key : acknowledged) {
        assertNotNull(store.get(key.getBytes(UTF_8)), key);
      }
    }
  }

  @Test
  void aBodyThatNoMemoryIsThereForTakesNothingOfTheLimits() throws Exception {
    try (ServerProcess server =
        ServerProcess.at(folder.resolve("store"), "--value-max", "1000000000")) {
      for (int i = 0; i < 2; i++) {
        assertEquals("HTTP/1.1 503", statusOfLongPut(URI.create(server.http()).getPort()));
      }
      // The one that asks is no longer among them, having no body.
      String stats = text(server.http(), "/v1/stats");
      assertTrue(stats.contains("\"bodyBytes\":0,"), stats);
      assertEquals(204, put(server.http(), "/v1/keys/a", "x", false));
    }
  }

  /** Of one that has sent no byte of its value. */
  private static String statusOfLongPut(int port) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      String head =
          "PUT /v1/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n";
      socket.getOutputStream().write(head.getBytes(UTF_8));
      return new String(socket.getInputStream().readNBytes(12), UTF_8);
    }
  }

  @Test
  void whatCannotBeServedIsOneLine() throws IOException {
    Path nothing = Files.writeString(folder.resolve("nothing.pem"), "nothing");
    String store = folder.resolve("store").toString();
    String file = nothing.toString();
    String tls =
        CommandRun.of("serve", "--dir", store, "--port", "0", "--tls-cert", file, "--tls-key", file)
            .failsWith(1);
    assertTrue(tls.startsWith("cannot use these files for TLS"), tls);
    CommandRun.of("serve", "--dir", store, "--bind", "0.0.0.0").failsWith(2);
    CommandRun.of("serve", "--dir", store, "--redis-port", "70000").failsWith(2);
    CommandRun.of("serve", "--dir", store, "--tls-cert", file).failsWith(2);
    CommandRun.of("serve", "--dir", store, "--retain-changes", "2000000g").failsWith(2);
    Path empty = Files.writeString(folder.resolve("empty"), "\n");
    CommandRun.of("serve", "--dir", store, "--token-file", empty.toString()).failsWith(2);
    CommandRun.of("serve", "--dir", store, "--token-file", file + "x").failsWith(1);
    CommandRun.of("serve", "--dir", store, "--read-token-file", file).failsWith(2);
    CommandRun.of("serve", "--dir", store, "--token-file", file, "--read-token-file", file)
        .failsWith(2);
  }

  @Test
  void optionsOfANodeThatDoNotFitAreOneLine() throws IOException {
    String store = folder.resolve("store").toString();
    String[] node = {"--cluster", "shop", "--node", "a", "--peers", "a=127.0.0.1:1"};
    String missing = serve(store, node).failsWith(2);
    assertTrue(missing.contains("kvsep-cluster"), missing);
    assertTrue(Files.notExists(folder.resolve("store")));
    String[] other = {"--cluster", "shop", "--node", "x", "--peers", "a=127.0.0.1:1"};
    assertTrue(serve(store, other).failsWith(2).contains("no address of --node x"));
    serve(store, "--node", "a").failsWith(2);
    serve(store, "--cluster", "shop", "--node", "a").failsWith(2);
    serve(store, "--cluster", "shop", "--peers", "a=127.0.0.1:1").failsWith(2);
    serve(store, "--cluster", "shop", "--node", "a", "--peers", "a=127.0.0.1:1", "--sync", "0")
        .failsWith(2);
    String[] one = {"--cluster", "s", "--node", "a", "--peers", "a=127.0.0.1:1"};
    for (String wrong : List.of("--shards 0", "--shards 65", "--shards 2 --redirect a=http://x")) {
      String[] all =
          Stream.concat(Arrays.stream(one), Arrays.stream(wrong.split(" "))).toArray(String[]::new);
      String refusal = serve(store, all).failsWith(2);
      assertTrue(refusal.contains("--shards"), refusal);
    }
    serve(store, "--shards", "2").failsWith(2);
    serve(store, "--cluster", "s", "--node", "a", "--peers", "a=x:1", "--peer-ca", "x")
        .failsWith(2);
  }

  @Test
  void theDirectoryOfANodeIsServedAsOne() throws IOException {
    Path store = Files.createDirectory(folder.resolve("store"));
    Files.writeString(store.resolve("CLUSTER"), "shop a\n");
    String refusal = serve(store.toString()).failsWith(1);
    assertTrue(refusal.contains("--cluster"), refusal);
  }

  private static CommandRun serve(String store, String... options) throws IOException {
    List<String> words = new ArrayList<>(List.of("serve", "--dir", store, "--port", "0"));
    words.addAll(List.of(options));
    return CommandRun.of(words.toArray(String[]::new));
  }

  private static String text(String address, String path) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(address + path)).build();
    return CLIENT.send(request, BodyHandlers.ofString()).body();
  }

  private static int status(String address, String path) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(address + path)).build();
    return CLIENT.send(request, BodyHandlers.discarding()).statusCode();
  }

  private static int put(String address, String path, String value, boolean isSynced)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(address + path)).PUT(BodyPublishers.ofString(value));
    if (isSynced) {
      request.header("Kvsep-Durability", "sync");
    }
    return CLIENT.send(request.build(), BodyHandlers.discarding()).statusCode();
  }
}
