package io.kvsep.internal.io;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;

/** Whose name in a lock file counts. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
final class LockOwnerTest {
  private static final String FILE = "(dev=1,ino=2)";

  @TempDir Path directory;

  /**
   * Starts one that ends when it is told to, tells its id, and becomes one that never asks for it.
   */
  private Process parent;

  private long childId;

  @BeforeEach
  void start() throws IOException {
    assumeTrue(Files.exists(Path.of("/proc/self/stat")));
    parent =
        new ProcessBuilder("sh", "-c", "exec 3<&0; (read x <&3) & echo $!; exec sleep 300").start();
    childId =
        Long.parseLong(
            new BufferedReader(new InputStreamReader(parent.getInputStream(), US_ASCII))
                .readLine());
  }

  @AfterEach
  void end() throws InterruptedException {
    if (parent != null) {
      assertTrue(parent.destroyForcibly().waitFor(1, TimeUnit.MINUTES));
    }
  }

  private @Nullable Long owner(String line, Object file) throws IOException {
    Path lock = directory.resolve("lock");
    Files.writeString(lock, line, US_ASCII);
    try (FileChannel channel = FileChannel.open(lock, READ)) {
      return LockOwner.otherAlive(channel, file);
    }
  }

  private static Instant startOf(long id) {
    return ProcessHandle.of(id).orElseThrow().info().startInstant().orElseThrow();
  }

  private static void await(long id, String state) throws IOException {
    Path stat = Path.of("/proc", Long.toString(id), "stat");
    while (!Files.readString(stat, US_ASCII).contains(state)) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aProcessThatLivesCountsWithItsStartAndThatFile() throws Exception {
    long id = parent.pid();
    Instant start = startOf(id);
    String line = id + " " + start + " " + FILE + "\n";
    assertEquals(id, owner(line, FILE));
    assertEquals(id, owner(id + " " + start.plusMillis(1_500) + " " + FILE + "\n", FILE));
    assertNull(owner(line, "(dev=1,ino=3)"));
    assertNull(owner(id + " " + start.minusSeconds(60) + " " + FILE + "\n", FILE));
    assertNull(owner(line.strip(), FILE));
    end();
    assertNull(owner(line, FILE));
  }

  @Test
  void oneThatHasEndedDoesNotCountBeforeItWasWaitedFor() throws Exception {
    await(parent.pid(), "(sleep) ");
    // The shell is gone: no process asks any more.
    try (OutputStream input = parent.getOutputStream()) {
      input.write('\n');
    }
    await(childId, ") Z ");
    assertNull(owner(childId + " " + startOf(childId) + " " + FILE + "\n", FILE));
  }

  @Test
  void thisProcessAndUnreadableNamesCountAsNoOwner() throws Exception {
    long id = ProcessHandle.current().pid();
    assertNull(owner(id + " " + startOf(id) + " " + FILE + "\n", FILE));
    for (String line :
        new String[] {
          "", "\n", "\n4711 b " + FILE + "\n", "4711\n", "a b c\n", "1 b " + FILE + "\n"
        }) {
      assertNull(owner(line, FILE));
    }
  }

  @Test
  void whatIsWrittenIsThisProcessAndGoesAgain() throws Exception {
    Path lock = directory.resolve("lock");
    try (FileChannel channel = FileChannel.open(lock, CREATE, READ, WRITE)) {
      LockOwner.write(channel, FILE);
      String[] words = Files.readString(lock, US_ASCII).split(" ", 3);
      assertEquals(Long.toString(ProcessHandle.current().pid()), words[0]);
      assertEquals(startOf(ProcessHandle.current().pid()), Instant.parse(words[1]));
      assertEquals(FILE + "\n", words[2]);
      LockOwner.erase(channel);
      assertEquals("\n", Files.readString(lock, US_ASCII));
    }
  }
}
