package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jline.reader.Candidate;
import org.jline.terminal.Terminal;
import org.jline.terminal.impl.DumbTerminal;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

final class ShellCommandTest {
  @TempDir Path folder;
  private Path store = Path.of("");

  @BeforeEach
  void nameStore() {
    store = folder.resolve("store");
  }

  private CommandRun shell(String lines, String... options) {
    List<String> all = new ArrayList<>(List.of("shell", "--dir", store.toString()));
    all.addAll(List.of(options));
    return CommandRun.withInput(lines.getBytes(UTF_8), all.toArray(String[]::new));
  }

  private void fill() {
    try (KvStore open = KvStore.open(store)) {
      for (String key : List.of("user/1", "user/2", "user", "a b", "0xff", "zoo:x:1", "zoo:y")) {
        open.put(key.getBytes(UTF_8), "v".getBytes(UTF_8));
      }
      open.put(new byte[] {(byte) 0xff, 1}, new byte[0]);
      open.in(open.keyspace("people")).put("ada".getBytes(UTF_8), new byte[0]);
    }
  }

  @Test
  void linesAreCommandsOnOneStore() {
    String lines =
        """
        # Comments and empty lines count for nothing.

        put a 'one  two'
        put "b c" "3"
        kvsep put d 4 --keyspace people
        increment n
        get a
        scan --prefix b
        keyspaces --json
        exit
        put after exit
        """;
    CommandRun run = shell(lines).succeeds();
    List<String> out = run.lines();
    assertEquals("1", out.get(0));
    assertTrue(out.get(1).startsWith("one  twob c\t3"), run.text());
    assertTrue(out.get(3).contains("people"), run.text());
    try (KvStore open = KvStore.open(store)) {
      assertFalse(open.contains("after".getBytes(UTF_8)));
    }
  }

  @Test
  void theFirstLineThatFailsEndsTheInput() {
    CommandRun run = shell("put a 1\nget none\nput b 2\n");
    assertEquals("no such key: none", run.failsWith(1));
    assertEquals("a\t1\n", shell("scan").succeeds().text());
    assertEquals(2, shell("nonsense\n").code());

    CommandRun going = shell("get none\nput b 2\nnonsense\n", "--keep-going");
    assertEquals(1, going.code());
    assertEquals(2, going.errors().lines().count(), going.errors());
    assertEquals("a\t1\nb\t2\n", shell("scan").succeeds().text());
  }

  @Test
  void onlyACommandThatMayCreatesTheStore() {
    assertEquals(
        "no store in " + store + ": there is no such directory (--dir names another)",
        shell("get a\n").failsWith(1));
    assertFalse(Files.exists(store));
    shell("").succeeds();
    assertFalse(Files.exists(store));
  }

  @Test
  void aShellThatOnlyReadsChangesNothingAndLetsOthersRead() {
    fill();
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore other = KvStore.open(store, reading)) {
      assertTrue(other.contains("user".getBytes(UTF_8)));
      assertEquals("v", shell("get user\n", "--read-only").succeeds().text());
    }
    String refusal = shell("put x y\n", "--read-only").failsWith(1);
    assertTrue(refusal.contains("read"), refusal);
  }

  @Test
  void quotedLinesGoOnAndStandardInputIsNoValue() {
    assertEquals("x\ny", shell("put a 'x\ny'\nget a\n").succeeds().text());
    String unclosed = shell("\nput a 'x\nput b 1\n").failsWith(1);
    assertEquals("line 2: a quotation mark is not closed", unclosed);
    assertEquals("standard input has the commands of the shell", shell("put a -\n").failsWith(1));
  }

  @Test
  @Timeout(60)
  void aCommandDoesNotWaitForTheNextOne() throws Exception {
    PipedInputStream input = new PipedInputStream();
    CountDownLatch answered = new CountDownLatch(1);
    OutputStream output =
        new OutputStream() {
          @Override
          public void write(int value) {
            answered.countDown();
          }
        };
    Streams streams = Streams.of(input, output, new ByteArrayOutputStream());
    try (PipedOutputStream program = new PipedOutputStream(input)) {
      CompletableFuture<Integer> code =
          CompletableFuture.supplyAsync(
              () -> Kvsep.run(streams, "shell", "--dir", store.toString()));
      program.write("put a 1\nget a\n".getBytes(UTF_8));
      program.flush();
      assertTrue(answered.await(30, TimeUnit.SECONDS));
      program.write("exit\n".getBytes(UTF_8));
      program.flush();
      assertEquals(0, code.get());
    }
  }

  @Test
  void commandsThatNeedTheirOwnProcessAreLeftOut() {
    String help = shell("help\n").succeeds().text();
    assertTrue(help.contains("scan"), help);
    for (String command : List.of("cluster", "demo", "repair", "serve", "shell", "demo-writer")) {
      assertTrue(shell(command + "\n").failsWith(2).startsWith("no such command: "), command);
    }
  }

  @Test
  void wordsAreSplitAsInAShell() {
    assertEquals(List.of(), ShellWords.split("  # put a b"));
    assertEquals(List.of("a", "b#", "c"), ShellWords.split(" a  b# c "));
    assertEquals(List.of("a b", "", "c\\d"), ShellWords.split("'a b' \"\" 'c\\d'"));
    assertEquals(List.of("ab cd", "x\"y\\z\\n"), ShellWords.split("a'b c'd \"x\\\"y\\\\z\\n\""));
    assertEquals(List.of("a b", "\\"), ShellWords.split("a\\ b \\"));
    assertEquals(null, ShellWords.split("put 'a"));
    assertEquals(null, ShellWords.split("put \"a\\\""));
  }

  private List<String> completed(String word, String... before) {
    Streams streams =
        Streams.of(
            new ByteArrayInputStream(new byte[0]),
            new ByteArrayOutputStream(),
            new ByteArrayOutputStream());
    List<Candidate> candidates = new ArrayList<>();
    try (HeldStore held = new HeldStore(store, /* readOnly= */ false)) {
      new ShellCompleter(new Shell(streams, held)).complete(List.of(before), word, candidates);
    }
    return candidates.stream().map(Candidate::value).toList();
  }

  @Test
  void keysAreCompletedPartByPart() {
    fill();
    assertEquals(List.of("a b", "user", "user/", "zoo:"), completed("", "get"));
    assertEquals(List.of("user/1", "user/2"), completed("user/", "get"));
    assertEquals(List.of("zoo:x:", "zoo:y"), completed("zoo:", "scan", "--prefix"));
    assertEquals(List.of("ada"), completed("", "get", "--keyspace", "people"));
    assertEquals(List.of(), completed("", "get", "--keyspace", "none"));
    assertEquals(List.of(), completed("", "get", "--key-hex"));
    assertEquals(List.of(), completed("", "put", "a"));
    assertEquals(List.of("people"), completed("p", "scan", "--keyspace"));
    assertEquals(List.of("ada"), completed("", "get", "--keyspace=people"));
  }

  @Test
  void commandsOptionsAndFilesAreCompleted() throws IOException {
    assertTrue(completed("").containsAll(List.of("get", "scan", "exit")));
    assertFalse(completed("").contains("demo"));
    assertTrue(completed("--", "scan").containsAll(List.of("--prefix", "--json", "--help")));
    assertFalse(completed("--", "scan").contains("--stacktrace"));
    assertEquals(List.of("csv", "jsonl", "binary"), completed("", "import", "f", "--format"));
    Files.createDirectory(folder.resolve("sub"));
    Files.createFile(folder.resolve("file"));
    String start = folder + "/";
    assertEquals(
        List.of(start + "file", start + "sub/"),
        completed(start, "import").stream().sorted().toList());
    assertEquals(List.of(), completed("", "nonsense"));
    assertEquals(List.of(), completed("", "get"));
    assertFalse(Files.exists(store));
  }

  @Test
  void aTerminalHasHistoryAndAPrompt() throws IOException {
    fill();
    Path history = folder.resolve("history");
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    ByteArrayOutputStream screen = new ByteArrayOutputStream();
    // A backslash between single quotation marks is one, so that the third one opens a word.
    String typed = "get none\nget user\nput q 'it\\'s'\n'\nget q\nexit\n";
    Streams streams =
        Streams.of(new ByteArrayInputStream(new byte[0]), output, new ByteArrayOutputStream());
    try (HeldStore held = new HeldStore(store, /* readOnly= */ false);
        Terminal terminal =
            new DumbTerminal(new ByteArrayInputStream(typed.getBytes(UTF_8)), screen)) {
      assertEquals(0, ShellTerminal.run(new Shell(streams, held), terminal, history));
    }
    assertEquals("v\nit\\s\n", output.toString(UTF_8));
    assertTrue(screen.toString(UTF_8).contains("kvsep> "), screen.toString(UTF_8));
    assertEquals(5, Files.readAllLines(history).size());
  }

  /** Interrupts each command when it has opened the store, before its first step. */
  private static final class InterruptingStore extends HeldStore {
    private Runnable atOpen = () -> {};

    InterruptingStore(Path directory) {
      super(directory, /* readOnly= */ false);
    }

    @Override
    KvStore open(boolean mayCreate) {
      KvStore opened = super.open(mayCreate);
      atOpen.run();
      return opened;
    }
  }

  /** Runs each command twice: the first run is interrupted, the second does all of the work. */
  private static void interruptEach(Path directory, List<List<String>> commands) {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    Streams streams = Streams.of(new ByteArrayInputStream(new byte[0]), output, errors);
    try (InterruptingStore held = new InterruptingStore(directory)) {
      Shell shell = new Shell(streams, held);
      for (List<String> command : commands) {
        held.atOpen = shell::interrupt;
        assertEquals(1, shell.run(command), command::toString);
        String told = errors.toString(UTF_8).strip();
        assertTrue(told.endsWith("kvsep: interrupted"), () -> command + ": " + told);
        assertEquals("", output.toString(UTF_8), command::toString);
        errors.reset();
        held.atOpen = () -> {};
        assertEquals(0, shell.run(command), () -> command + ": " + errors.toString(UTF_8));
        assertFalse(output.toString(UTF_8).isEmpty(), command::toString);
        output.reset();
      }
    }
  }

  @Test
  void anInterruptEndsACommandAtItsNextStep() throws IOException {
    fill();
    Path files = Files.createDirectory(folder.resolve("files"));
    Files.writeString(files.resolve("a"), "1");
    Path csv = Files.writeString(folder.resolve("new.csv"), "new,1\n");
    interruptEach(
        store,
        List.of(
            List.of("count"),
            List.of("size"),
            List.of("scan"),
            List.of("export", folder + "/target", "--prefix", "user/", "--force"),
            List.of("dump", folder + "/dump.jsonl"),
            List.of("ingest", files.toString()),
            List.of("changes"),
            List.of("import", csv.toString())));
    assertEquals("10\n", shell("count").succeeds().text());
  }

  @Test
  void anInterruptedBackupOrRestoreIsDoneAgain() {
    byte[] value = new byte[1 << 18];
    new Random(1).nextBytes(value);
    try (KvStore open = KvStore.open(store)) {
      open.put("long".getBytes(UTF_8), value);
    }
    String backup = folder + "/backup";
    interruptEach(store, List.of(List.of("backup", backup)));
    interruptEach(folder.resolve("restored"), List.of(List.of("restore", backup)));
    try (KvStore open = KvStore.open(folder.resolve("restored"))) {
      assertArrayEquals(value, open.get("long".getBytes(UTF_8)));
    }
  }

  @Test
  void anInterruptDoesNotSuppressTheReportOfWorkThatRunsToItsEnd() {
    fill();
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    Streams streams =
        Streams.of(new ByteArrayInputStream(new byte[0]), output, new ByteArrayOutputStream());
    try (InterruptingStore held = new InterruptingStore(store)) {
      Shell shell = new Shell(streams, held);
      held.atOpen = shell::interrupt;
      assertEquals(0, shell.run(List.of("verify")));
      assertTrue(output.toString(UTF_8).startsWith("sound: "), output.toString(UTF_8));
    }
  }

  @Test
  void anInterruptEndsACommandThatWrites() {
    fill();
    AtomicReference<Shell> running = new AtomicReference<>();
    ByteArrayOutputStream output =
        new ByteArrayOutputStream() {
          @Override
          public synchronized void write(byte[] bytes, int offset, int length) {
            super.write(bytes, offset, length);
            running.get().interrupt();
          }
        };
    Streams streams =
        Streams.of(new ByteArrayInputStream(new byte[0]), output, new ByteArrayOutputStream());
    try (HeldStore held = new HeldStore(store, /* readOnly= */ false)) {
      Shell shell = new Shell(streams, held);
      running.set(shell);
      assertEquals(1, shell.run(List.of("scan", "--keys-only")));
      assertEquals("0x30786666\n", output.toString(UTF_8));
      // The next one is not interrupted, even if that was once more between the two.
      shell.interrupt();
      assertEquals(0, shell.run(List.of("get", "user")));
      assertEquals("0x30786666\nv", output.toString(UTF_8));
    }
  }
}
