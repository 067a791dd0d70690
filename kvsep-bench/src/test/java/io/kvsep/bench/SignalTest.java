package io.kvsep.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A measurement that is told to end leaves nothing behind. */
@DisabledOnOs(OS.WINDOWS)
final class SignalTest {
  private static final String COMPARE =
      "compare --engines kvsep --sets 1024:10000000 --cache-mib 16 --workloads get";

  @TempDir Path directory;

  private @Nullable Process running;

  @AfterEach
  void end() {
    if (running != null) {
      running.destroyForcibly().onExit().join();
    }
  }

  private Process start(String words) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Djava.io.tmpdir=" + directory);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Bench.class.getName()));
    command.addAll(List.of(words.split(" ")));
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    running = process;
    await(() -> !process.isAlive() || hasStore());
    assertTrue(process.isAlive());
    return process;
  }

  /** The first file that a store makes, in a folder that the command has made. */
  private boolean hasStore() {
    try (var files = Files.walk(directory)) {
      return files.anyMatch(file -> file.endsWith("LOCK"));
    } catch (IOException | UncheckedIOException e) {
      // A file has gone meanwhile.
      return false;
    }
  }

  private static void await(BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() - start < TimeUnit.MINUTES.toNanos(1));
      LockSupport.parkNanos(10_000_000);
    }
  }

  private void terminate(Process process) throws Exception {
    process.destroy();
    assertTrue(process.waitFor(1, TimeUnit.MINUTES));
    try (var left = Files.list(directory)) {
      assertEquals(List.of(), left.toList());
    }
  }

  @Test
  void comparisonTakesItsChildAndItsStoreWithIt() throws Exception {
    Process comparison = start(COMPARE);
    List<ProcessHandle> children = comparison.children().toList();
    terminate(comparison);
    assertEquals(1, children.size());
    assertFalse(children.get(0).isAlive());
  }

  @Test
  void childDoesNotOutliveAComparisonThatIsKilled() throws Exception {
    Process comparison = start(COMPARE);
    ProcessHandle child = comparison.children().findFirst().orElseThrow();
    comparison.destroyForcibly();
    child.onExit().get(1, TimeUnit.MINUTES);
  }

  @Test
  void temporaryStoreIsRemoved() throws Exception {
    terminate(start("write --entries 1000000000"));
  }
}
