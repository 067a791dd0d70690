package io.kvsep.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
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
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command in a process of its own, since it ends with that. */
final class ServeCommandTest {
  @TempDir Path folder;

  @Test
  void aTerminatedServerSyncsAndLeavesASoundStore() throws Exception {
    Process server = start();
    try {
      BufferedReader lines = lines(server);
      String address = address(server, lines);
      assertEquals(204, put(address, "/v1/keys/a", "x", false));
      String redis = lines.readLine();
      assertTrue(redis.contains(" at redis://127.0.0.1:"), redis);
      int port = Integer.parseInt(redis.substring(redis.lastIndexOf(':') + 1));
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.getOutputStream().write("GET a\r\nSET b y\r\n".getBytes(UTF_8));
        String answers = "$1\r\nx\r\n+OK\r\n";
        assertEquals(
            answers, new String(socket.getInputStream().readNBytes(answers.length()), UTF_8));
      }
      server.toHandle().destroy();
      assertTrue(server.waitFor(60, TimeUnit.SECONDS));
      assertEquals("", new String(server.getErrorStream().readAllBytes(), UTF_8));
    } finally {
      server.destroyForcibly();
    }
    try (KvStore store = KvStore.open(folder.resolve("store"))) {
      assertArrayEquals("x".getBytes(UTF_8), store.get("a".getBytes(UTF_8)));
      assertArrayEquals("y".getBytes(UTF_8), store.get("b".getBytes(UTF_8)));
      assertEquals(0, store.stats().replayedBytes());
    }
  }

  @Test
  void aKilledServerLosesNothingAcknowledgedAsSynced() throws Exception {
    List<String> acknowledged = new ArrayList<>();
    Process server = start();
    try {
      String address = address(server, lines(server));
      for (int i = 0; i < 50; i++) {
        assertEquals(204, put(address, "/v1/keys/k" + i, "v" + i, true));
        acknowledged.add("k" + i);
      }
    } finally {
      server.destroyForcibly();
      server.waitFor();
    }
    try (KvStore store = KvStore.open(folder.resolve("store"))) {
      for (String key : acknowledged) {
        assertNotNull(store.get(key.getBytes(UTF_8)), key);
      }
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
    Path empty = Files.writeString(folder.resolve("empty"), "\n");
    CommandRun.of("serve", "--dir", store, "--token-file", empty.toString()).failsWith(2);
    CommandRun.of("serve", "--dir", store, "--token-file", file + "x").failsWith(1);
  }

  private Process start() throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx256m",
            "-Dsun.misc.unsafe.memory.access=allow",
            "-XX:+IgnoreUnrecognizedVMOptions",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            "io.kvsep.server.Kvsep",
            "serve",
            "--dir",
            folder.resolve("store").toString(),
            "--port",
            "0",
            "--redis-port",
            "0")
        .start();
  }

  private static BufferedReader lines(Process server) {
    return new BufferedReader(new InputStreamReader(server.getInputStream(), UTF_8));
  }

  private static String address(Process server, BufferedReader lines) throws IOException {
    String line = lines.readLine();
    assertNotNull(line, () -> error(server));
    return line.substring(line.indexOf("http://"));
  }

  private static String error(Process server) {
    try {
      return new String(server.getErrorStream().readAllBytes(), UTF_8);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static int put(String address, String path, String value, boolean isSynced)
      throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(address + path)).PUT(BodyPublishers.ofString(value));
    if (isSynced) {
      request.header("Kvsep-Durability", "sync");
    }
    return HttpClient.newHttpClient().send(request.build(), BodyHandlers.discarding()).statusCode();
  }
}
