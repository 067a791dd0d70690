package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What all commands have in common. */
final class KvsepTest {
  private static final List<String> COMMANDS =
      List.of(
          "demo",
          "put",
          "get",
          "delete",
          "increment",
          "cas",
          "scan",
          "count",
          "size",
          "keyspaces",
          "changes",
          "ingest",
          "export",
          "dump",
          "import",
          "shell",
          "info",
          "compact",
          "reclaim",
          "checkpoint",
          "backup",
          "restore",
          "verify",
          "repair",
          "serve",
          "cluster");

  @TempDir Path folder;

  @Test
  void helpListsTheCommandsAndNoOthers() {
    List<String> lines = CommandRun.of("--help").succeeds().lines();
    List<String> listed =
        lines.stream()
            .filter(line -> line.matches("  [a-z]+ .*"))
            .map(line -> line.strip().replaceAll(" .*", ""))
            .toList();

    assertEquals(COMMANDS, listed);
  }

  @Test
  void everyCommandHasHelpAndNamesTheStoreOption() {
    for (String command : COMMANDS) {
      String help = CommandRun.of(command, "--help").succeeds().text();
      assertTrue(help.startsWith("Usage: kvsep " + command), help);
      assertTrue(help.contains("--dir=DIR") || command.equals("cluster"), help);
      assertFalse(help.contains("stacktrace"), help);
      // A longer line of a footer is broken, and its rest stands alone.
      assertFalse(help.matches("(?s).*\\n[a-z-]+\\n[a-z].*"), help);
    }
  }

  @Test
  void completionKnowsTheCommandsAndNoHiddenOnes() {
    String script = CommandRun.of("completion").succeeds().text();

    assertTrue(script.startsWith("#!"), script);
    for (String command : COMMANDS) {
      assertTrue(script.contains("_picocli_kvsep_" + command + "()"), command);
    }
    assertFalse(script.contains(CrashWriterCommand.NAME), script);
    assertFalse(script.contains("stacktrace"), script);
  }

  @Test
  void versionIsOneLine() {
    assertTrue(CommandRun.of("--version").succeeds().text().matches("kvsep [^\n]+\n"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "unknown",
        "--unknown",
        "get",
        "get a b",
        "increment",
        "increment a --by x",
        "cas",
        "cas a b",
        "cas a --absent",
        "cas a b --absent --expected c",
        "cas a b --absent --expected-hex",
        "cas a b --expected x --expected-hex",
        "get a --unknown",
        "get a --dir",
        "shell extra",
        "info extra",
        "info --json --json",
        "compact extra",
        "compact --json --json",
        "reclaim extra",
        "reclaim --json --json",
        "changes extra",
        "changes --after -1",
        "changes --max -1",
        "changes --until x",
        "ingest",
        "export",
        "dump",
        "dump a b",
        "demo a b",
        "demo --limit-bytes much",
        "checkpoint",
        "checkpoint a b",
        "backup",
        "backup f --since -1",
        "backup f --since x",
        "restore",
        "verify extra",
        "repair",
        "serve extra",
        "serve --port x",
        "serve --port 70000",
        "serve --bind 0.0.0.0",
        "serve --tls-cert c.pem",
        "serve --sync -1",
        "bench"
      })
  void wrongUsageIsOneLineThatLeadsToTheHelp(String line) {
    CommandRun run = CommandRun.of(line.isEmpty() ? new String[0] : line.split(" "));

    String message = run.failsWith(2);
    assertTrue(message.matches(".*\\(see kvsep( [a-z]+)? --help\\)"), message);
    assertEquals(0, run.output().length);
  }

  @Test
  void aMistypedCommandOrOptionIsAnsweredWithASimilarOne() {
    String command = CommandRun.of("scann").failsWith(2);
    assertEquals("no such command: scann, did you mean scan? (see kvsep --help)", command);
    String option = CommandRun.of("scan", "--jsno").failsWith(2);
    assertEquals("Unknown option: '--jsno', did you mean --json? (see kvsep scan --help)", option);
    String early = CommandRun.of("--dir", "s", "scan").failsWith(2);
    assertTrue(early.contains("; options of a command stand behind it"), early);
    String tooLong = CommandRun.of("scan", "--limit", "99999999999999999999").failsWith(2);
    assertTrue(tooLong.contains(" is no whole number, or too large"), tooLong);
    assertEquals(List.of("get"), SimilarWords.of("gte", COMMANDS));
    assertEquals(List.of("put"), SimilarWords.of("puut", COMMANDS));
    assertEquals(List.of(), SimilarWords.of("ls", COMMANDS));
    assertEquals("no such command: xyz (see kvsep --help)", CommandRun.of("xyz").failsWith(2));
  }

  @Test
  void helpIsACommandToo() {
    assertEquals(
        CommandRun.of("--help").succeeds().text(), CommandRun.of("help").succeeds().text());
    assertEquals(
        CommandRun.of("scan", "--help").succeeds().text(),
        CommandRun.of("help", "scan").succeeds().text());
    CommandRun.of("help", "scann").failsWith(2);
  }

  @Test
  void whatAStoreWarnsOfIsOneLine() {
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    WarningLines lines =
        new WarningLines(
            Streams.of(InputStream.nullInputStream(), OutputStream.nullOutputStream(), errors));

    lines.publish(new LogRecord(Level.WARNING, "damaged:\n  1.vlog"));
    lines.publish(new LogRecord(Level.INFO, "chatter"));

    assertEquals("kvsep: damaged: 1.vlog", errors.toString(UTF_8).strip());
  }

  @Test
  void whatAStoreWarnsOfStandsInThePlaceOfWhatIsDrawn() {
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    Streams streams =
        Streams.of(InputStream.nullInputStream(), OutputStream.nullOutputStream(), errors);
    WarningLines lines = new WarningLines(CommandRun.onTerminal(streams));

    lines.publish(new LogRecord(Level.WARNING, "damaged: 1.vlog"));

    assertTrue(errors.toString(UTF_8).matches("\rkvsep: damaged: 1.vlog {57}\\R"));
  }

  @Test
  void stackTraceIsShownOnRequestOnly() {
    String[] command = {"get", "key", "--dir", folder.resolve("none").toString()};
    CommandRun.of(command).failsWith(1);

    CommandRun run =
        CommandRun.of("get", "key", "--dir", folder.resolve("none").toString(), "--stacktrace");

    assertEquals(1, run.code());
    assertTrue(run.errors().contains("\tat io.kvsep.server."), run.errors());
  }

  @Test
  void aReaderThatGoesAwayEndsTheCommandQuietly() {
    fill();
    ByteArrayOutputStream errors = new ByteArrayOutputStream();

    for (String[] command : new String[][] {{"scan"}, {"scan", "--json"}, {"get", "key1"}}) {
      OutputStream closed = refusing("Broken pipe");
      int code = Kvsep.run(Streams.of(InputStream.nullInputStream(), closed, errors), dir(command));
      assertEquals(0, code);
    }

    assertEquals("", errors.toString(UTF_8));
  }

  @Test
  void aFullDiskBehindStandardOutputIsAnError() {
    fill();
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    OutputStream full = refusing("No space left on device");

    int code = Kvsep.run(Streams.of(InputStream.nullInputStream(), full, errors), dir("scan"));

    assertEquals(1, code);
    assertEquals(
        "kvsep: cannot write to standard output: No space left on device",
        errors.toString(UTF_8).strip());
  }

  @Test
  void aFullDiskBehindABufferIsOneLineToo() {
    fill();
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    OutputStream full = buffered(refusing("No space left on device"));

    int code =
        Kvsep.run(Streams.of(InputStream.nullInputStream(), full, errors), dir("scan", "--json"));

    assertEquals(1, code);
    assertEquals(
        "kvsep: cannot write to standard output: No space left on device",
        errors.toString(UTF_8).strip());
  }

  @Test
  void aFailureIsReportedThoughTheOutputIsClosed() throws IOException {
    fill();
    Files.write(folder.resolve("store/CURRENT"), new byte[3]);
    assertFailsWithoutOutput("1 problem found", "verify");
    assertFailsWithoutOutput("1 problem found", "verify --json");
    assertFailsWithoutOutput("1 lost place, 0 uncertain keys", "repair --to %s");
    assertFailsWithoutOutput("1 lost place, 0 uncertain keys", "repair --json --to %s");
  }

  /** Where the output goes out while the command reports, and where it does at the end. */
  private void assertFailsWithoutOutput(String message, String command) throws IOException {
    for (boolean atOnce : new boolean[] {true, false}) {
      OutputStream closed = refusing("Broken pipe");
      ByteArrayOutputStream errors = new ByteArrayOutputStream();
      Streams streams =
          Streams.of(InputStream.nullInputStream(), atOnce ? closed : buffered(closed), errors);
      Path target = Files.createTempDirectory(folder, "new");

      int code = Kvsep.run(streams, dir(command.formatted(target).split(" ")));

      assertEquals(1, code, command);
      assertEquals("kvsep: " + message, errors.toString(UTF_8).strip());
    }
  }

  /** As the output of the process is. */
  private static OutputStream buffered(OutputStream output) {
    return new BufferedOutputStream(output, 1 << 16);
  }

  private void fill() {
    try (KvStore store = KvStore.open(folder.resolve("store"))) {
      for (int i = 0; i < 100; i++) {
        store.put(("key" + i).getBytes(UTF_8), new byte[1000]);
      }
    }
  }

  private String[] dir(String... command) {
    return Stream.concat(
            Arrays.stream(command), Stream.of("--dir", folder.resolve("store").toString()))
        .toArray(String[]::new);
  }

  /** Takes a few bytes first, as a pipe does. */
  private static OutputStream refusing(String message) {
    return new OutputStream() {
      private int taken;

      @Override
      public void write(int value) throws IOException {
        if (++taken > 10) {
          throw new IOException(message);
        }
      }
    };
  }
}
