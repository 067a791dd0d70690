package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A node of the demo's cluster in a process of its own, {@code kvsep serve}. Killed on close; ends
 * also when this process does ({@link ClusterDemoNode}).
 */
final class DemoNode implements AutoCloseable {
  private static final long START_SECONDS_MAX = 60;
  private static final Pattern ADDRESS = Pattern.compile("\\bhttp://\\S+");

  private final String name;
  private final String address;
  private final Path folder;
  private final List<String> program;

  private @Nullable Process process;
  private @Nullable ServerConnection server;

  /**
   * @param address where other nodes reach it
   * @param folder has the node's data and what it prints
   * @param program the JVM with its options and the main class
   */
  DemoNode(String name, String address, Path folder, List<String> program) {
    this.name = name;
    this.address = address;
    this.folder = folder;
    this.program = program;
  }

  String name() {
    return name;
  }

  String address() {
    return address;
  }

  /** Starts the process. It listens when {@link #awaitServer} returns. */
  CompletableFuture<URI> start(List<String> options) throws IOException {
    List<String> command = new ArrayList<>(program);
    command.addAll(List.of("serve", "--node", name, "--dir", folder.resolve(name).toString()));
    command.addAll(List.of("--port", "0", "--redis-port", "-1"));
    command.addAll(options);
    Process started =
        new ProcessBuilder(command)
            .redirectError(ProcessBuilder.Redirect.appendTo(errors().toFile()))
            .start();
    process = started;
    CompletableFuture<URI> listens = new CompletableFuture<>();
    Thread reader = new Thread(() -> read(started, listens), "kvsep-demo-output");
    reader.setDaemon(true);
    reader.start();
    return listens;
  }

  private static void read(Process process, CompletableFuture<URI> listens) {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Matcher found = ADDRESS.matcher(line);
        if (found.find()) {
          listens.complete(URI.create(found.group()));
        }
      }
    } catch (IOException e) {
      // The process has died, and its pipe with it.
      return;
    } finally {
      listens.completeExceptionally(new IOException("the process has ended"));
    }
  }

  void awaitServer(CompletableFuture<URI> listens) throws IOException, InterruptedException {
    try {
      server = new ServerConnection(listens.get(START_SECONDS_MAX, TimeUnit.SECONDS), null);
    } catch (ExecutionException | TimeoutException e) {
      String said = Files.readString(errors(), UTF_8).strip();
      throw CommandFailure.failed("node " + name + " does not start: " + said, e);
    }
  }

  ServerConnection server() {
    if (server == null) {
      throw new IllegalStateException(name + " has not been started");
    }
    return server;
  }

  private Path errors() {
    return folder.resolve(name + ".log");
  }

  /** With a signal that cannot be caught. Returns when the process has ended. */
  void kill() {
    Process running = process;
    if (running != null) {
      running.destroyForcibly().onExit().join();
    }
  }

  @Override
  public void close() {
    kill();
  }
}
