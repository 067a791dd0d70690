package io.kvsep.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ServeCommandTest {
  @TempDir Path folder;

  @Test
  void anAddressThatIsNotLoopbackNeedsAToken() throws IOException {
    String message =
        CommandRun.of("serve", "--dir", folder.resolve("s").toString(), "--bind", "0.0.0.0")
            .failsWith(2);
    assertTrue(message.contains("not loopback, needs a token"), message);

    Path empty = Files.writeString(folder.resolve("token"), "\n");
    String other =
        CommandRun.of("serve", "--bind", "0.0.0.0", "--token-file", empty.toString()).failsWith(2);
    assertTrue(other.contains("the token is empty"), other);
    assertTrue(Files.notExists(folder.resolve("s")));
  }

  @Test
  void wrongOptionsAreWrongUsage() {
    CommandRun.of("serve", "--redis-port", "70000").failsWith(2);
    CommandRun.of("serve", "--redis-port", "x").failsWith(2);
    CommandRun.of("serve", "--tls-cert", "x").failsWith(2);
  }

  @Test
  void servesUntilToldToEndAndThenClosesTheStore() throws Exception {
    Path store = folder.resolve("store");
    Process process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-Dsun.misc.unsafe.memory.access=allow",
                    "-Xmx256m",
                    "-cp",
                    System.getProperty("java.class.path"),
                    Kvsep.class.getName(),
                    "serve",
                    "--redis-port",
                    "0",
                    "--dir",
                    store.toString()))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    try (BufferedReader output =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
      String line = Objects.requireNonNull(output.readLine());
      assertTrue(line.startsWith("redis on 127.0.0.1:"), line);
      int port = Integer.parseInt(line.substring(line.lastIndexOf(':') + 1));
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.getOutputStream().write("SET key value\r\n".getBytes(US_ASCII));
        assertArrayEquals("+OK\r\n".getBytes(US_ASCII), socket.getInputStream().readNBytes(5));
      }
      process.destroy();
      assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    } finally {
      process.destroyForcibly();
    }
    try (KvStore open = KvStore.open(store)) {
      assertEquals(0, open.stats().replayedBytes(), "it was not closed");
      assertArrayEquals("value".getBytes(UTF_8), open.get("key".getBytes(UTF_8)));
    }
  }
}
