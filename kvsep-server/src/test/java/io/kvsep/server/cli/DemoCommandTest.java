package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whole demonstrations, with processes that are really killed. */
@Timeout(240)
final class DemoCommandTest {
  private static final int FILES = 203;

  @TempDir Path folder;
  private Path source = Path.of("");

  @BeforeEach
  void fill() throws IOException {
    source = Files.createDirectory(folder.resolve("source"));
    Random random = new Random(5);
    for (int i = 0; i < FILES; i++) {
      byte[] content = new byte[i % 50 == 0 ? 2_000_000 : random.nextInt(5000)];
      random.nextBytes(content);
      Path file = source.resolve(i % 3 == 0 ? "top" + i : "sub" + i % 2 + "/é" + i);
      Files.createDirectories(file.getParent());
      Files.write(file, content);
    }
  }

  @Test
  void everyStepSucceedsAndTheStoreIsKeptWhereAsked() {
    Path store = folder.resolve("store");

    List<String> lines =
        CommandRun.of("demo", source.toString(), "--dir", store.toString()).succeeds().lines();

    for (String step :
        List.of(
            "ingest ",
            "reopen, read and compare",
            "kill a writer 3 times",
            "overwrite 1/4",
            "compact",
            "reopen, compare again",
            "scan a prefix",
            "on disk",
            "levels",
            "recovery")) {
      assertTrue(lines.stream().anyMatch(line -> line.startsWith(step)), step + lines);
    }
    assertTrue(
        lines.contains("Everything that was acknowledged is there, and every checksum agrees."));
    // 203 files; indices 1, 5, ... 201 were deleted.
    assertEquals(
        FILES - 51,
        CommandRun.of("scan", "--prefix", "file/", "--keys-only", "--dir", store.toString())
            .succeeds()
            .lines()
            .size());
    String refusal =
        CommandRun.of("demo", source.toString(), "--dir", store.toString()).failsWith(1);
    assertEquals(store + " is not empty; the demo needs a directory of its own", refusal);
  }

  @Test
  void theSummaryIsJsonAndTheTemporaryStoreIsRemoved() {
    Map<String, Object> summary =
        CommandRun.of("demo", source.toString(), "--json", "--limit-bytes", "3m").succeeds().json();

    assertEquals("ok", summary.get("result"));
    assertEquals(true, summary.get("capped"));
    assertTrue(CommandRun.number(summary, "files") > 0);
    assertTrue(CommandRun.number(summary, "acknowledgedBatches") >= 3);
    assertTrue(
        CommandRun.number(summary, "foundBatches")
            >= CommandRun.number(summary, "acknowledgedBatches"));
    assertTrue(CommandRun.number(summary, "replayedBytes") > 0);
    assertTrue(summary.get("steps") instanceof List<?> steps && steps.size() == 7);
    assertFalse(Files.exists(Path.of(String.valueOf(summary.get("directory")))));
  }

  @Test
  void aFolderWithoutFilesIsReported() throws IOException {
    Path empty = Files.createDirectory(folder.resolve("empty"));

    assertEquals(
        "no files to store in " + empty, CommandRun.of("demo", empty.toString()).failsWith(1));
    assertEquals(
        folder.resolve("none") + ": no such folder",
        CommandRun.of("demo", folder.resolve("none").toString()).failsWith(1));
  }

  @Test
  void theDefaultFolderIsTheRepositoryElseTheProject() throws IOException {
    assertEquals(folder, DemoCommand.defaultFolder(folder, folder.toString()));

    Path repository = Files.createDirectories(folder.resolve(".m2/repository"));
    assertEquals(repository, DemoCommand.defaultFolder(folder, folder.toString()));
  }

  @Test
  void theWriterRefusesToStartWithoutAStore() {
    CommandRun.of("demo-writer", "--dir", folder.resolve("none").toString()).failsWith(1);
    assertFalse(
        new String(CommandRun.of("--help").output(), UTF_8).contains(CrashWriterCommand.NAME));
  }
}
