package io.kvsep.cluster.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class NodeProcessTest {
  private static final long START_SECONDS_MAX = 60;

  @TempDir Path directory;

  /** Answers what it is asked, but never a {@code hold}; the first word says whether it fails. */
  static final class Parrot {
    private Parrot() {}

    public static void main(String[] words) throws IOException {
      if (words.length > 0) {
        throw new IllegalStateException("seeded");
      }
      System.out.println("ready");
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (!line.endsWith("hold")) {
          System.out.println(line);
        }
      }
    }
  }

  private NodeProcess start(String... words) {
    return new NodeProcess(
        List.of("-Xmx64m", "-Xshare:auto", "-XX:TieredStopAtLevel=1"),
        Parrot.class,
        List.of(words),
        directory.resolve("errors"));
  }

  @Test
  void aProcessAnswersIsPausedAndIsKilled() throws IOException {
    try (NodeProcess node = start()) {
      node.awaitReady(START_SECONDS_MAX);
      assertEquals("put k v", node.ask("put", "k", "v").join());
      node.pause();
      CompletableFuture<String> answer = node.ask("get", "k");
      assertFalse(answer.isDone());
      node.resume();
      assertEquals("get k", answer.join());
      CompletableFuture<String> held = node.ask("hold");
      node.kill();
      assertFalse(node.isAlive());
      assertGone(held);
      assertGone(node.ask("get", "k"));
    }
  }

  private static void assertGone(CompletableFuture<String> answer) {
    CompletionException failure = assertThrows(CompletionException.class, answer::join);
    assertInstanceOf(NodeProcess.GoneException.class, failure.getCause());
  }

  @Test
  void aProcessThatFailsIsToldWithItsErrors() {
    try (NodeProcess node = start("fail")) {
      IllegalStateException failure =
          assertThrows(IllegalStateException.class, () -> node.awaitReady(START_SECONDS_MAX));
      assertTrue(String.valueOf(failure.getMessage()).contains("seeded"), failure::getMessage);
      assertEquals(1, node.awaitEnd());
    }
  }
}
