package io.kvsep.cluster.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A node of a cluster in a process of its own, as its parent sees it; {@link ClusterNode} is the
 * other side. Questions are lines on its input, {@code number word...}, answers lines on its
 * output, {@code number word...}, in any order. Thread safe.
 */
final class NodeProcess implements AutoCloseable {
  private static final long END_SECONDS_MAX = 60;

  private final Process process;
  private final BufferedWriter input;
  private final Path errors;
  private final Thread reader;
  private final AtomicLong asked = new AtomicLong();
  private final Map<Long, CompletableFuture<String>> answers = new ConcurrentHashMap<>();
  private final CompletableFuture<String> ready = new CompletableFuture<>();

  /** Completed when there will be no further answer. */
  private volatile boolean gone;

  /** The process cannot answer, because it died or its output ended. */
  static final class GoneException extends RuntimeException {
    GoneException(String message) {
      super(message);
    }
  }

  /**
   * @param options of its JVM
   * @param main its class, which says {@code ready} when it is
   * @param errors where its error output is appended
   */
  NodeProcess(List<String> options, Class<?> main, List<String> words, Path errors) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.add("-cp");
    command.add(System.getProperty("java.class.path", "."));
    command.add(main.getName());
    command.addAll(words);
    this.errors = errors;
    try {
      this.process =
          new ProcessBuilder(command)
              .redirectError(ProcessBuilder.Redirect.appendTo(errors.toFile()))
              .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    this.input = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), UTF_8));
    this.reader = new Thread(this::read, "node-output-" + process.pid());
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        int blank = line.indexOf(' ');
        if (line.equals("ready")) {
          ready.complete(line);
        } else if (blank > 0) {
          CompletableFuture<String> answer = answers.remove(Long.parseLong(line, 0, blank, 10));
          if (answer != null) {
            answer.complete(line.substring(blank + 1));
          }
        }
      }
    } catch (IOException e) {
      // The process has died, which closed the pipe.
    } finally {
      gone = true;
      failAll();
    }
  }

  private void failAll() {
    GoneException failure = new GoneException("process " + process.pid() + " is gone");
    ready.completeExceptionally(failure);
    answers.values().forEach(answer -> answer.completeExceptionally(failure));
  }

  /** Completes when the node is open; fails with its error output if it never will be. */
  void awaitReady(long seconds) {
    try {
      ready.get(seconds, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    } catch (Exception e) {
      throw new IllegalStateException("the node does not start: " + errors(), e);
    }
  }

  /** The answer, or a {@link GoneException}. The process need not be ready. */
  CompletableFuture<String> ask(String... words) {
    long number = asked.incrementAndGet();
    CompletableFuture<String> answer = new CompletableFuture<>();
    answers.put(number, answer);
    try {
      synchronized (input) {
        input.write(number + " " + String.join(" ", words) + "\n");
        input.flush();
      }
    } catch (IOException e) {
      // What is asked of a dead process is answered below.
    }
    if (gone) {
      failAll();
    }
    return answer;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  long pid() {
    return process.pid();
  }

  /** Its error output. */
  String errors() {
    try {
      return Files.readString(errors, UTF_8);
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** SIGKILL; returns when the process has ended. */
  void kill() {
    // Through the handle, because Process.destroyForcibly would close the pipe first.
    process.toHandle().destroyForcibly();
    awaitEnd();
  }

  /** SIGSTOP: the process does nothing when this returns, and its sockets stay open. */
  void pause() {
    signal("-STOP");
    while (process.isAlive() && !isStopped()) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Whether all threads of the process are stopped, on Linux; elsewhere they are not looked at. */
  private boolean isStopped() {
    Path tasks = Path.of("/proc/" + process.pid() + "/task");
    if (!Files.isDirectory(tasks)) {
      return true;
    }
    try (Stream<Path> all = Files.list(tasks)) {
      return all.allMatch(NodeProcess::isTaskStopped);
    } catch (IOException | UncheckedIOException e) {
      return false;
    }
  }

  private static boolean isTaskStopped(Path task) {
    try {
      // The name stands in parentheses before the state's letter.
      String stat = Files.readString(task.resolve("stat"), UTF_8);
      return stat.charAt(stat.lastIndexOf(')') + 2) == 'T';
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** SIGCONT. */
  void resume() {
    signal("-CONT");
  }

  private void signal(String name) {
    try {
      Process kill = new ProcessBuilder("kill", name, Long.toString(process.pid())).start();
      if (kill.waitFor() != 0) {
        throw new IllegalStateException("kill " + name + " failed with " + kill.exitValue());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Waits until the process has ended in one way or another; returns its exit value. */
  int awaitEnd() {
    try {
      if (!process.waitFor(END_SECONDS_MAX, TimeUnit.SECONDS)) {
        throw new IllegalStateException("process " + process.pid() + " does not end");
      }
      reader.join();
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Kills the process if it is still there. */
  @Override
  public void close() {
    kill();
  }
}
