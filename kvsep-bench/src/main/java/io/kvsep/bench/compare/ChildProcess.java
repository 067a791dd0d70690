package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.bench.Cleanup;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs one child from start to end. There is always an {@link Outcome}: a child that fails, dies or
 * falls silent is a result, and does not keep the others from running.
 */
final class ChildProcess {
  private static final String END = "";
  private static final int ERROR_LINES_MAX = 20;
  private static final long EXIT_SECONDS_MAX = 60;

  private final List<String> command;
  private final Duration silenceMax;
  private final Consumer<ChildLine.Done> progress;
  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final List<ChildLine.Result> results = new ArrayList<>();
  private ChildLine.@Nullable About about;
  private ChildLine.@Nullable Failed failed;
  private String workload = "start";

  /**
   * Output of a child.
   *
   * @param failed null if it completed
   * @param errors the end of its standard error, if it failed
   */
  record Outcome(
      ChildLine.@Nullable About about,
      List<ChildLine.Result> results,
      ChildLine.@Nullable Failed failed,
      List<String> errors) {}

  private ChildProcess(
      List<String> command, Duration silenceMax, Consumer<ChildLine.Done> progress) {
    this.command = command;
    this.silenceMax = silenceMax;
    this.progress = progress;
  }

  /**
   * Runs a command to its end.
   *
   * @param silenceMax time without a line after which it is killed
   */
  static Outcome run(List<String> command, Duration silenceMax, Consumer<ChildLine.Done> progress) {
    return new ChildProcess(command, silenceMax, progress).run();
  }

  private Outcome run() {
    try {
      Path errors = Files.createTempFile("kvsep-bench-", ".err");
      try (Cleanup removal = Cleanup.of(() -> remove(errors))) {
        runToEnd(errors);
        return new Outcome(about, results, failed, failed == null ? List.of() : tail(errors));
      }
    } catch (IOException e) {
      return new Outcome(about, results, new ChildLine.Failed(workload, e.toString()), List.of());
    }
  }

  private void runToEnd(Path errors) throws IOException {
    Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    Thread reader = new Thread(() -> read(process), "kvsep-bench-child");
    reader.setDaemon(true);
    reader.start();
    try (Cleanup killing = Cleanup.of(() -> kill(process))) {
      String line = lines.poll(silenceMax.toMillis(), TimeUnit.MILLISECONDS);
      while (line != null && !line.equals(END)) {
        take(line);
        line = lines.poll(silenceMax.toMillis(), TimeUnit.MILLISECONDS);
      }
      if (line == null) {
        failed =
            new ChildLine.Failed(workload, "silent for " + silenceMax.toSeconds() + " s, killed");
      } else if (!process.waitFor(EXIT_SECONDS_MAX, TimeUnit.SECONDS)) {
        fail("it did not end");
      } else if (process.exitValue() != 0) {
        fail("ended with exit code " + process.exitValue());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      fail("interrupted");
    }
  }

  /**
   * Waits for the end, with a limit: a process still alive would write into the store that is
   * removed next, and take CPU time from the next measurement.
   */
  private static void kill(Process process) {
    process.destroyForcibly();
    process.onExit().completeOnTimeout(process, EXIT_SECONDS_MAX, TimeUnit.SECONDS).join();
  }

  /** Keeps the reason given by the child, if there is one. */
  private void fail(String reason) {
    if (failed == null) {
      failed = new ChildLine.Failed(workload, reason);
    }
  }

  private void read(Process process) {
    try (BufferedReader reader =
        new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        if (!line.isEmpty()) {
          lines.add(line);
        }
      }
    } catch (IOException e) {
      // The process has died, which closed the pipe.
      return;
    } finally {
      lines.add(END);
    }
  }

  private void take(String line) {
    ChildLine parsed = ChildLine.parse(line).orElse(null);
    if (parsed instanceof ChildLine.About said) {
      about = said;
    } else if (parsed instanceof ChildLine.Done done) {
      workload = done.workload();
      progress.accept(done);
    } else if (parsed instanceof ChildLine.Result result) {
      results.add(result);
    } else if (parsed instanceof ChildLine.Failed said) {
      failed = said;
    }
  }

  private static List<String> tail(Path file) throws IOException {
    // Native code may write anything.
    List<String> lines = new String(Files.readAllBytes(file), UTF_8).lines().toList();
    return lines.subList(Math.max(0, lines.size() - ERROR_LINES_MAX), lines.size());
  }

  private static void remove(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
