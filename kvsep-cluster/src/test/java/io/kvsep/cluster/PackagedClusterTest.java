package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
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
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The distribution, unpacked: its script starts nodes, and its jar alone says what is missing. */
@Tag("packaged")
@Timeout(180)
final class PackagedClusterTest {
  @TempDir Path folder;

  @Test
  void itsNodesShareTheirEntries() throws Exception {
    Assumptions.assumeTrue(File.separatorChar == '/');
    Path home = unpacked();
    String peers = peers();
    List<Process> processes = new ArrayList<>();
    try {
      for (String node : List.of("a", "b", "c")) {
        processes.add(
            started(
                home.resolve("bin/kvsep").toString(),
                "serve",
                "--cluster",
                "packaged",
                "--node",
                node,
                "--peers",
                peers,
                "--dir",
                folder.resolve(node).toString(),
                "--port",
                "0",
                "--redis-port",
                "-1"));
      }
      List<String> servers = new ArrayList<>();
      for (Process process : processes) {
        String line =
            new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8)).readLine();
        assertNotNull(line, () -> errors(process));
        servers.add(line.substring(line.indexOf("http")));
      }
      HttpClient client = HttpClient.newHttpClient();
      URI first = URI.create(servers.get(1) + "/v1/keys/key");
      var put = HttpRequest.newBuilder(first).PUT(BodyPublishers.ofString("value")).build();
      assertEquals(204, client.send(put, BodyHandlers.ofString()).statusCode());
      URI other = URI.create(servers.get(2) + "/v1/keys/key");
      var get = HttpRequest.newBuilder(other).build();
      assertEquals("value", client.send(get, BodyHandlers.ofString()).body());
      for (Process process : processes) {
        // Process.destroy would close its streams.
        process.toHandle().destroy();
      }
      for (Process process : processes) {
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), () -> errors(process));
        assertEquals("", errors(process));
      }
    } finally {
      processes.forEach(Process::destroyForcibly);
    }
  }

  @Test
  void itsDemonstrationFindsNothingWrong() throws Exception {
    Assumptions.assumeTrue(File.separatorChar == '/');
    Process demo = started(unpacked().resolve("bin/kvsep").toString(), "cluster", "demo", "--json");
    String output = new String(demo.getInputStream().readAllBytes(), UTF_8);
    assertEquals("", errors(demo));
    assertEquals(0, demo.waitFor(), output);
    assertTrue(output.endsWith("\"result\":\"ok\"}\n"), output);
  }

  @Test
  void itsJarAloneSaysWhatIsMissing() throws Exception {
    Assumptions.assumeTrue(File.separatorChar == '/');
    Path jar = unpacked().resolve("lib/kvsep.jar");
    Process process =
        started(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-jar",
            jar.toString(),
            "serve",
            "--cluster",
            "packaged",
            "--node",
            "a",
            "--peers",
            "a=127.0.0.1:1",
            "--dir",
            folder.resolve("a").toString());
    String errors = errors(process);
    assertEquals(2, process.waitFor());
    assertTrue(errors.contains("lib/cluster"), errors);
    assertTrue(Files.notExists(folder.resolve("a")));
  }

  private static String peers() throws IOException {
    List<String> peers = new ArrayList<>();
    List<ServerSocket> held = new ArrayList<>();
    for (String node : List.of("a", "b", "c")) {
      ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
      held.add(socket);
      peers.add(node + "=127.0.0.1:" + socket.getLocalPort());
    }
    for (ServerSocket socket : held) {
      socket.close();
    }
    return String.join(",", peers);
  }

  private Path unpacked() throws Exception {
    Process tar =
        new ProcessBuilder(
                "tar", "-xzf", System.getProperty("kvsep.distribution"), "-C", folder.toString())
            .start();
    assertEquals(0, tar.waitFor(), () -> errors(tar));
    try (var folders = Files.list(folder)) {
      return folders.filter(path -> Files.exists(path.resolve("bin"))).findFirst().orElseThrow();
    }
  }

  private static Process started(String... command) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().remove("JAVA_TOOL_OPTIONS");
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    builder.environment().put("KVSEP_JAVA_OPTS", "-Xmx128m -XX:TieredStopAtLevel=1");
    return builder.start();
  }

  private static String errors(Process process) {
    try {
      return new String(process.getErrorStream().readAllBytes(), UTF_8);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
