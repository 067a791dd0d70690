package io.kvsep.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of a file that is not written to its end. */
final class UnfinishedFileTest {
  @TempDir Path folder;

  /** A process that is in the middle of a file when it is asked to end. */
  static final class Writer {
    private Writer() {}

    public static void main(String[] arguments) throws IOException {
      try (UnfinishedFile file = new UnfinishedFile(Path.of(arguments[0]))) {
        write(file);
        System.out.println("half");
        while (System.in.read() >= 0) {
          // Only the end counts.
        }
      }
    }
  }

  private static void write(UnfinishedFile file) throws IOException {
    file.channel().write(ByteBuffer.allocate(100));
  }

  @Test
  void itStaysWhenItIsFinished() throws IOException {
    Path path = folder.resolve("file");
    try (UnfinishedFile file = new UnfinishedFile(path)) {
      write(file);
      file.finish();
    }
    assertEquals(100, Files.size(path));
  }

  @Test
  void itGoesWhenItIsNot() throws IOException {
    Path path = folder.resolve("file");
    try (UnfinishedFile file = new UnfinishedFile(path)) {
      write(file);
    }
    assertFalse(Files.exists(path));
  }

  @Test
  void aRefusedWriteIsToldWithTheName() {
    IOException full = new IOException("No space left on device");
    Path path = folder.resolve("file");
    assertEquals(
        "cannot write " + path + ": No space left on device",
        UnfinishedFile.named(path, full).getMessage());
    IOException taken = new FileAlreadyExistsException(path.toString());
    assertSame(taken, UnfinishedFile.named(path, taken));
  }

  @Test
  void whatIsThereStays() throws IOException {
    Path path = Files.writeString(folder.resolve("file"), "other");
    assertThrows(FileAlreadyExistsException.class, () -> new UnfinishedFile(path));
    assertEquals("other", Files.readString(path));
  }

  @Test
  void itGivesItsContentToANameThatNothingHas() throws IOException {
    Path path = folder.resolve("file");
    for (int way = 0; way < 2; way++) {
      for (int tries = 0; tries < 2; tries++) {
        try (UnfinishedFile file = UnfinishedFile.beside(path)) {
          write(file);
          if (tries == 0) {
            give(file, path, way);
          } else {
            int again = way;
            assertThrows(FileAlreadyExistsException.class, () -> give(file, path, again));
          }
        }
        assertEquals(100, Files.size(path));
        assertEquals(1, count());
      }
      Files.delete(path);
    }
  }

  private static void give(UnfinishedFile file, Path path, int way) throws IOException {
    if (way == 0) {
      file.take(path);
    } else {
      file.reserve(path);
    }
  }

  @Test
  void itReplacesAnotherFileOnlyWhenItIsWhole() throws IOException {
    Path path = Files.writeString(folder.resolve("file"), "other");
    Path link = Files.createSymbolicLink(folder.resolve("link"), path);
    try (UnfinishedFile file = UnfinishedFile.beside(link)) {
      write(file);
      assertEquals("other", Files.readString(link));
      file.replace(link);
    }
    assertEquals("other", Files.readString(path));
    assertFalse(Files.isSymbolicLink(link));
    assertEquals(100, Files.size(link));
    assertEquals(2, count());
  }

  private int count() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList().size();
    }
  }

  @Test
  @Timeout(60)
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "it ends a process without asking it")
  void itGoesWhenTheProcessIsAskedToEnd() throws Exception {
    Path path = folder.resolve("file");
    Process process =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-cp",
                    System.getProperty("java.class.path"),
                    Writer.class.getName(),
                    path.toString()))
            .start();
    try (var lines = process.inputReader()) {
      assertEquals("half", lines.readLine());
      assertTrue(Files.exists(path));
      // Through the handle: Process.destroy would close its input, which ends it, too.
      process.toHandle().destroy();
      assertEquals(128 + 15, process.waitFor());
    } finally {
      process.destroyForcibly();
    }
    assertFalse(Files.exists(path));
  }
}
