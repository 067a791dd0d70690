package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** {@code kvsep serve} in a process of its own, at free ports; killed at the end. */
final class ServerProcess implements AutoCloseable {
  private final Process process;
  private final String http;
  private final int redisPort;

  private ServerProcess(Process process) throws IOException {
    this.process = process;
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    String first = line(lines);
    http = first.substring(first.indexOf("http"));
    String second = line(lines);
    assertTrue(second.matches(".* at rediss?://127\\.0\\.0\\.1:.*"), second);
    redisPort = Integer.parseInt(second.substring(second.lastIndexOf(':') + 1));
  }

  static ServerProcess at(Path store, String... options) throws IOException {
    return of(System.getProperty("java.class.path"), store, options);
  }

  /** From these classes. */
  static ServerProcess of(String classPath, Path store, String... options) throws IOException {
    List<String> words =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+IgnoreUnrecognizedVMOptions",
                "-Dsun.misc.unsafe.memory.access=allow",
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath,
                "io.kvsep.server.cli.Kvsep",
                "serve",
                "--dir",
                store.toString(),
                "--port",
                "0",
                "--redis-port",
                "0"));
    words.addAll(List.of(options));
    Process process = new ProcessBuilder(words).start();
    try {
      return new ServerProcess(process);
    } catch (IOException | RuntimeException | Error e) {
      process.destroyForcibly();
      throw e;
    }
  }

  private String line(BufferedReader lines) throws IOException {
    String line = lines.readLine();
    assertNotNull(line, () -> errors());
    return line;
  }

  /** Where it listens, without a slash at the end. */
  String http() {
    return http;
  }

  int redisPort() {
    return redisPort;
  }

  /** As an operator does it. */
  void askToStop() {
    process.toHandle().destroy();
  }

  /** And waits until it has; its exit code. */
  int terminate() throws InterruptedException {
    askToStop();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return process.exitValue();
  }

  /** What it said on standard error until its end. */
  String errors() {
    try {
      return new String(process.getErrorStream().readAllBytes(), UTF_8);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** By a signal that cannot be caught. */
  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }
}
